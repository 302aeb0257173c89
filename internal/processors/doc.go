// Package processors limits the number of processors that a daemon uses at once.
package processors
