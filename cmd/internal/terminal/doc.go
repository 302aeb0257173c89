// Package terminal is the terminal of the user while a command has one on a node: every key
// goes there ([Terminal.Raw]), but for the escape sequences of ssh(1), and the settings are
// restored whatever happens.
//
// [Terminal.Restore] does that at an ordinary end. For all others, a SIGKILL, a crash, there
// is the guard: a process that has the terminal and one end of a pipe, and restores the
// settings when the other end is closed without a word ([Guard]).
package terminal
