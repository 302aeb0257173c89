// Package stream is the format in which files travel in a copy: a sequence of records, which one
// machine writes and all receivers read.
//
//	stream  = magic record* End
//	record  = type:1 length:4 body          numbers are little-endian
//
//	Entry   a file of any kind: its name, kind and attributes
//	Data    bytes of the file at an offset; gaps between Data are holes
//	Close   the end of a regular file: its size, or that it could not be read
//	Leave   the end of a directory, after its entries
//
// A name is one path component: it is not empty, not "..", and contains no slash. So a stream
// cannot name anything outside of the receiving directory. As the only exception, "." as the name
// of the first directory means the receiving directory itself. A hard link names its file by the
// number in the file's entry.
//
// [Reader] checks all of this: records come in a valid order, and lengths are bounded before
// anything is allocated. The package is pure: it does not access files.
package stream
