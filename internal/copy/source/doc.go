// Package source reads the files that are to be copied and writes them as a stream (package
// stream). It goes through directories by descriptors and follows no symbolic links in them, so a
// tree that changes meanwhile does not lead it elsewhere. What cannot be read is reported, and the
// rest is sent.
package source
