// Package procfs shows the processes of a whole cluster as the front end's /proc: a
// FUSE file system with what the real procfs has, in which the directories of ghosts
// are those of the processes that they stand for.
package procfs
