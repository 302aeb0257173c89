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
// A machine can have systemd as PID 1 instead, which starts the daemons by their units
// (Config.Systemd, systemd.go).
//
// A cluster changes nothing of the host, so any number of them can run concurrently. It does not
// outlive the test process: PID 1 of each machine ends when the pipe to the test process closes,
// and the kernel then ends the machine. A janitor, which outlives the test process by a moment,
// removes control groups and directories, even after SIGKILL.
//
// The tests are one package: most run in parallel, and the shared clusters are lent from one to the
// next. Several packages would each start clusters of their own, and a test that needs the machine
// for itself would run beside those of the others. Files are named by subject: jobs*, procfs*,
// hostile*, copy*.
//
// Goroutines: each running machine has one goroutine, locked to a thread that lives in the
// machine's namespaces, which starts every command there (enter.go); such a command is an ordinary
// child of the test process. A Machine's methods may be called concurrently; those of a Cluster
// that start and stop parts of it may not.
//
// A test that hangs does not affect others: [Start], [Shared] and [Watch] give it a watchdog. When
// the test's time is over, the watchdog reports the state of the test, its daemons and its
// processes, and switches its machines off, which ends its waits. If the test still does not end,
// the process does, with all of its stacks.
//
// Needs root, Linux 5.10 or newer, overlayfs, veth and bridge. Before 6.14 all PID namespaces share
// one pid_max; it is restored at the end.
package cluster
