// Package printed makes a command fail if its output could not be written.
package printed
