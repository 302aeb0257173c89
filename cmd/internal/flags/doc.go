// Package flags explains errors in options in terms of the command line.
package flags
