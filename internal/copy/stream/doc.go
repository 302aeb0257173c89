// Package stream is the form in which files travel in a copy: a sequence of records, made by
// one machine and read by all that receive.
//
//	stream  = magic record* End
//	record  = type:1 length:4 body          numbers are little-endian
//
//	Entry   a file of any kind: its name, kind and attributes
//	Data    bytes of the file at an offset; what has no bytes is a hole
//	Close   the end of a regular file: its size, or that it could not be read
//	Leave   the end of a directory, whose entries are between its own and this
//
// A name is one component: never empty, "..", or with a slash. So nothing in a stream can name
// what is outside of the directory that receives it. The one exception is "." for the first
// directory, which stands for the receiver's directory itself. A hard link names the file that it
// is a link to by a number that the entry of that file has.
//
// [Reader] checks all of this: what it returns is in an order that makes sense, and lengths are
// compared with what is there before anything is allocated. The package is pure: it has no files.
package stream
