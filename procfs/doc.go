// Package procfs shows the processes of a whole cluster as the front end's /proc: a
// FUSE file system with what the real procfs has, in which the directories of ghosts
// are those of the processes that they stand for. On a node, where there are no ghosts, all
// that the source knows is there, and the node's own processes are links where they are not
// in memory (Config.Local, Process.Here).
//
//	/proc                         root.go       lists the real one; looking refreshes
//	/proc/PID, remote             processdir.go
//	   stat status ... task       process.go    from memory, in versions
//	   maps fd net ...            fetch.go      from the node, when looked into (files.go)
//	/proc/PID, local              local.go      a directory of links into the real procfs
//	/proc/self, /proc/sys ...     root.go       links into the real procfs
//	/proc/bproc                   own.go        nodes; the real procfs is mounted in it
//
// # The kernel's memory
//
// A request to this server costs tens of microseconds, and programs that list
// processes make five for each process. So the kernel is told to keep what it knows:
// names, attributes, links, contents; files are opened and closed without asking
// (FUSE_NO_OPEN_SUPPORT). A process that changes is taken in by apply.go: the inodes of
// the files that are not as they were are given up (table.go), and the kernel is told
// to forget their names (news.go). Nothing is ever changed in place: who has a file
// open goes on reading the version that it opened, so nobody reads half of a change.
//
// The name of a process in /proc itself is kept for a short time only: when the kernel
// asks for it again, somebody looks, and nodes are asked if what is known is too old
// (fresh.go), or if there is a ghost that is not known (strangers.go). Nothing happens while
// nobody looks, but for what is done ahead when processes were born (prepare.go).
//
// # Goroutines
//
// Those of the FUSE server answer the kernel, one for each request. The refresher
// alone asks the source, and changes View.processes. One tells the kernel what is new in
// /proc itself. The warmer looks into processes for who lists them, the preparer for nobody
// yet, one after the other: warmer.turn is with who does, and no handler takes it.
//
// # What must not be
//
// The kernel takes in news of a directory when no lookup there is under way. So no
// lookup below /proc/PID waits for a node, else a slow node would hold up everybody:
// files are fetched when they are read. A lookup in /proc itself waits for the
// refresher, so news of /proc itself are told by another goroutine, for which nobody
// waits.
//
// The server opens nothing in its own file system but to mount the real procfs in it,
// and to have the kernel know processes that are going to be read (warm.go, prepare.go). No handler
// waits for that for long. It does so, and tells the kernel what is new, on threads that do
// not share the descriptor by which requests are taken (device.go): a server that is killed
// cannot wait for itself.
//
// A process that waits for an answer cannot be killed (fuse_dev_do_read has taken its
// request): every handler returns within patience. When this process is killed, the kernel
// frees those that wait; where it cannot, package guard does.
//
// Locks: View.mu, rounds.mu, strangers.mu, news.mu, handles.mu are leaves. table.mu is held while a new
// inode's file is made of a process (View.mu). listing.mu and the locks of fetched files
// are held while the source is asked.
package procfs
