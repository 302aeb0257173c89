// Package sparselog keeps a daemon's log readable when one thing goes wrong again and
// again: of warnings and errors with the same text only so many are written in a time,
// and the next one after that says how many were not. [File] bounds a log that nobody
// rotates.
package sparselog
