// Package release has the version of bproc to which a command belongs.
package release
