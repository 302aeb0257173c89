// Package sparselog keeps a daemon's log readable when the same fault occurs again and again. Of
// warnings and errors with the same text, only a limited number is written in a period, and the
// next one after it says how many were withheld. Records about a node are counted for that node
// alone, including records of level Info. So no node can fill the log, or keep others out of it.
// [File] bounds a log that is not rotated.
package sparselog
