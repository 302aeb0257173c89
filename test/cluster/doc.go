// Package cluster starts whole clusters on one machine: a front end and any
// number of nodes, each in namespaces of its own, with the real daemons and
// commands in them, for tests, benchmarks and the demonstration.
//
//	           test process
//	 pidfd, pipe |     | netlink
//	+------------+     +-----------------------------+
//	|  a machine: PID, mount, network, host name,    |  the switch: a network
//	|  IPC and cgroup namespace; PID 1 is this       |  namespace without a
//	|  binary again (init.go)                        |  process, with a bridge
//	|  /run, /etc, /opt, /var/lib, /proc, /sys: its  |
//	|  own; the rest is the host's                   |
//	|  eth0 ------------------ veth ------------------- port "n0"
//	+------------------------------------------------+
//
// A machine can have systemd as PID 1 instead, and its daemons started by their units
// (Config.Systemd, systemd.go).
//
// Nothing of the host is changed, so any number of clusters can run beside
// each other, and nothing outlives the test process: PID 1 of each machine
// ends when the pipe to the test process closes, and the kernel then ends the
// machine. A janitor, which outlives the test process by a moment, removes
// what has a name (control groups, a directory), also after SIGKILL.
//
// Goroutines: each running machine has one goroutine, locked to a thread that
// lives in the machine's namespaces, which starts every command there (enter.go); such a
// command is an ordinary child of the test process. A Machine's methods may be
// called by several goroutines at once; a Cluster's that start and stop parts
// of it may not.
//
// A test that hangs does not take the others with it: [Start], [Shared] and [Watch]
// give it a watchdog, which tells what the test, its daemons and its processes are at
// when its time is over, and switches its machines off, which ends its waits. If it
// still does not end, the process does, with all of its stacks.
//
// Needs root, a kernel of 5.10 or newer, overlayfs, veth and bridge. Before
// 6.14 there is one pid_max for all PID namespaces; it is put back at the end.
package cluster
