// Package enter puts the calling thread into a mount namespace in which the view of
// package procfs is what /proc is.
//
// It is for a program with a file capability, so it does little, takes nothing from
// its user but names, and needs nothing but system calls.
package enter
