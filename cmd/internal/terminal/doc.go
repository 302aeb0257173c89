// Package terminal handles the user's terminal while a command has a terminal on a node. All keys
// go to the node ([Terminal.Raw]), except for the escape sequences of ssh(1), and the settings are
// restored whatever happens.
//
// [Terminal.Restore] restores them at an ordinary end. For all other ends, such as SIGKILL or a
// crash, there is the guard: a process that holds the terminal and one end of a pipe. It restores
// the settings if the other end is closed before the guard is dismissed ([Guard]).
package terminal
