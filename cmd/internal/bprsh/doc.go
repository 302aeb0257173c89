// Package bprsh implements the command bprsh: it parses the command lines of rsh and ssh ([parse]),
// and lets package bpsh run the command by the user's shell on a node.
//
// The environment of the command is new, as with rshd and sshd ([user.environment]). The user is
// looked up on the front end, because the process space has one set of users.
package bprsh
