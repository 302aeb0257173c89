// Package source reads the files of a copy and writes them as a stream (package stream). It walks
// directories by descriptors and does not follow symbolic links in them, so a concurrent change of
// the tree cannot lead it elsewhere. Files that cannot be read are reported, and the rest is sent.
package source
