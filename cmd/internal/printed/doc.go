// Package printed has a command fail that could not print what it was asked for.
package printed
