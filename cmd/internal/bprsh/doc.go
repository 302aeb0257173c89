// Package bprsh is the command bprsh: it takes the command lines of rsh and ssh ([parse]),
// and has package bpsh run the command by the user's shell on a node.
//
// The environment of the command is new, as that of rshd and sshd ([user.environment]).
// The user is looked up on the front end, for the process space has one set of users.
package bprsh
