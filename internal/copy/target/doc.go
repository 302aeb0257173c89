// Package target makes the files that a stream (package stream) describes, in one directory.
//
// It holds descriptors of that directory and of the directories that it has entered. Every system
// call gets one of them and a single path component, whose symbolic links are not followed. So
// nothing outside of the directory is reached, whatever the stream contains and however the
// directories change meanwhile.
//
// A file gets its name when it is complete: it is written without a name (O_TMPFILE, open(2)) or,
// where that is not possible, under a temporary name in the same directory, and then linked or
// renamed. [Target.Receive] removes incomplete files before it returns.
package target
