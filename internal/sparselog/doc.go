// Package sparselog keeps a daemon's log readable when one thing goes wrong again and
// again: of warnings and errors with the same text only so many are written in a time,
// and the next one after that says how many were not. What is about a node is counted for that
// node alone, information too: so no node can fill the log, or keep others out of it. [File] bounds a log that nobody
// rotates.
package sparselog
