// Package flags says what is wrong with an option in the words of the command line.
package flags
