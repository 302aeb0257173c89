// Package procfs shows the processes of a whole cluster as the front end's /proc: a FUSE file
// system with the content of the real procfs, in which the directories of ghosts are those of their
// remote processes. On a node, where there are no ghosts, it shows all processes that the source
// knows, and the node's own processes are links where they are not in memory (Config.Local,
// Process.Here).
//
//	/proc                         root.go       lists the real one; a listing refreshes
//	/proc/PID, remote             processdir.go
//	   stat status ... task       process.go    from memory, in versions
//	   maps fd net ...            fetch.go      from the node, on access (files.go)
//	/proc/PID, local              local.go      a directory of links into the real procfs
//	/proc/self, /proc/sys ...     root.go       links into the real procfs
//	/proc/bproc                   own.go        nodes; the real procfs is mounted in it
//
// # The kernel's caches
//
// A request to this server costs tens of microseconds, and programs that list processes make five for each
// process. So the kernel is told to cache everything: names, attributes, links, contents. It opens and closes
// files and directories without a request (FUSE_NO_OPEN_SUPPORT, FUSE_NO_OPENDIR_SUPPORT). Only listings are made
// anew each time: requests.ReadDirPlus keeps the kernel from caching them, and listing.go says what positions in
// them mean. When a process changes, apply.go gives up the inodes of the files that differ (table.go), and the
// kernel is told to forget their names (news.go). Nothing is ever changed in place: a reader with an open file
// goes on reading the version that it opened, so no reader sees half of a change.
//
// A file that is fetched from a node has what the node's kernel shows to one user. So each user gets
// an inode of its own for it, and the kernel asks for the name each time (fetch.go).
//
// The kernel caches the name of a process in /proc itself only for a short time. When it asks for
// the name again, a program is reading, and nodes are asked if their data are too old (fresh.go),
// or if there is a ghost whose process is not known (strangers.go). Without readers nothing
// happens, except the preparation of new processes (prepare.go).
//
// # Goroutines
//
// The goroutines of the FUSE server answer the kernel, one for each request. The refresher alone
// asks the source, and changes View.processes. Another goroutine notifies the kernel of changes in
// /proc itself. The warmer reads processes ahead of programs that list them, the preparer before
// any program does, both by the scout (package scout). They exclude each other by warmer.turn, which no
// handler takes.
//
// # Deadlocks
//
// The kernel accepts a notification about a directory only while no lookup there is pending. So no
// lookup below /proc/PID waits for a node, else a slow node would hold up all readers: files are
// fetched when they are read. A lookup in /proc itself waits for the refresher, so another
// goroutine, for which nothing waits, notifies the kernel of changes in /proc itself.
//
// The server opens files in its own file system only to mount the real procfs in it. It does so, and
// notifies the kernel, on threads that do not share the descriptor that requests are taken from
// (device.go): a server that is killed cannot wait for itself. Another process, the scout, makes the
// kernel know processes that are about to be read (warm.go, prepare.go). A listing of /proc waits for
// it, for three seconds at most; meanwhile nobody notifies the kernel of changes in /proc itself, since that
// waits for the listing, and the scout would wait for it (news.hold).
//
// A process that waits for an answer cannot be killed once fuse_dev_do_read has taken its request,
// so every handler returns within patience, and a listing that waits for the scout soon after. When this
// process is killed, the kernel frees waiting processes; where it cannot, package guard does.
//
// Locks: View.mu, rounds.mu, strangers.mu, news.mu, kept.mu, recent.mu are leaves. table.mu is held while
// the file of a new inode is made of a process (View.mu). The locks of fetched files are held while the source is
// asked. Warmer.turn and the scout's lock are held while the scout looks and the kernel is notified.
package procfs
