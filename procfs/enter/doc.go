// Package enter puts the calling thread into a mount namespace in which the view of package procfs
// is mounted over /proc.
//
// It is for a program with a file capability, so it does little, takes only names from its user,
// and needs only system calls.
package enter
