// Package release tells which version of bproc a command is of.
package release
