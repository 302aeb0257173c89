// Package space makes and drives the process space of a slave: the PID namespace in which the
// processes of one master run, with the numbers that they have on the front end.
//
//	bpslave                         the space (PID and mount namespace, cgroup)
//	  Space.Run                       bpinit, PID 1 (package pid1)
//	    reader     <---- frames ---->    launches, reaps, signals
//	    supervisor <---- seccomp ----  processes
//
// runc/libcontainer makes the namespaces and the cgroup. Network, host name, IPC and users are the
// node's, and so are the files: the root is the node's own, bound into the space's mount namespace,
// or another directory. /proc is the space's own. Root inside the space has the daemon's
// capabilities; no system call filter of libcontainer applies.
//
// The space outlives the daemon: bpinit holds the listening socket, the seccomp listener with the
// calls under way, and the descriptors that the daemon gives it to keep (Keep). Create finds a
// living space in its directory and thaws it. Requests of a former daemon to bpinit have been
// carried out or are under way (Starting).
//
// Goroutines of Run: the reader of bpinit's frames makes all callbacks and ends the entries of pending; a launch
// that cannot be written ends its own, and the end of Run all others. The supervisor is a thread of its own, with a goroutine for each
// system call that waits for the front end. Another goroutine writes to bpinit while there is
// something to be written (outbound.go). Any goroutine may call the methods that ask bpinit for
// something.
//
// This package does not choose numbers, count blocks, watch forks or talk to the master.
//
// libcontainer runs the daemon's binary again inside the namespaces: the program must call Reexec
// before anything else.
package space
