// Package target makes the files that a stream (package stream) describes, in one directory.
//
// It holds descriptors of that directory and of those in it that it is in at the moment, and every
// call gets one of them and one component of a path, whose symbolic links are not followed. So
// nothing outside of the directory is reached, whatever the stream says and whoever changes the
// directories meanwhile.
//
// A file has its name when it is whole, not before: it is written without a name
// (O_TMPFILE, open(2)), or under a temporary one in the same directory where that does not
// work, and then linked or renamed. [Target.Receive] removes what is not whole before it returns.
package target
