// VM runs suites in virtual machines: Debian 12 with systemd, and kernels that Debian has packaged.
//
//	make vm                                     # all suites with kernel 6.1
//	make vm KERNEL='5.10 6.12' RUN=demo         # one suite, two kernels
//	make vm CGROUP=hybrid RUN='cluster/(install|join|reboot)'
//
// KERNEL is a list of versions; image.sh puts the newest package of each into the image. CGROUP is
// unified, or hybrid, which is cgroup v1's controllers with systemd's own v2 hierarchy. RUN is a
// regular expression of SUITE or SUITE/STEP:
//
//	demo      "make demo" without a terminal, in one machine
//	test      "make test" in one machine; TESTRUN is its RUN, TESTPKG its PKG
//	cluster   a front end and two nodes, installed from the packages of "make packages" and
//	          run by systemd; its steps follow each other, see clusterSteps
//
// Each step is a line of the output, "ok" or "FAIL" with the time it took; a summary ends it. The
// status is 1 if a step failed. What make prints in a machine comes into build/vm/TARGET-KERNEL-CGROUP.log,
// with the time of day. Translated, the suite test takes hours; let the machine have a processor of its own
// (nice(1), and /proc/PID/autogroup of sched(7) where that counts).
//
// # The machines
//
// An image of the root is made once (image.sh, mmdebstrap(1), minutes), and again when its scripts
// change; each machine has an overlay of it, gone in the end. What Go needs is on a second disk,
// made for each run of demo and test: the tree, modules, and a build cache that is filled outside,
// at the paths that they have outside. Nothing is fetched inside.
//
// A machine has one processor: with more, some guests hang under qemu's translation. KVM is used if
// a kernel of the image really runs under it; /dev/kvm may be there for other guests only. Commands
// go in by ssh, through a port of loopback that is free. The cluster's network is a switch in this
// program, on a socket in a directory of its own; no name or port of the host is used for it, and
// several runs do not meet.
//
// Needed on the host, besides what "make test" needs: qemu-system-x86, qemu-utils, mmdebstrap, root.
// Machines end with this program, however it ends. Nothing outside of build/vm is changed.
package main
