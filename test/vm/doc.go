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
// Each step prints a line, "ok" or "FAIL" with its time; a summary follows. The status is 1 if a
// step failed. The output of make in a machine goes to build/vm/TARGET-KERNEL-CGROUP.log, with the
// time of day. With translation, the suite test takes hours; give the machine a processor of its
// own (nice(1), and /proc/PID/autogroup of sched(7) where that counts).
//
// # The machines
//
// The root image is made once (image.sh, mmdebstrap(1), minutes), and again when its scripts
// change. Each machine has an overlay of it, which is removed in the end. A second disk, made for
// each run of demo and test, has what Go needs: the tree, modules, and a build cache that is filled
// on the host, at the same paths as on the host. Nothing is downloaded in a machine.
//
// A machine has one processor: with more, some guests hang under qemu's translation. KVM is used if
// a kernel of the image runs under it; /dev/kvm may exist for other guests only. Commands are run
// by ssh, through a free port of loopback. The cluster's network is a switch in this program, on a
// socket in a directory of its own. It uses no name or port of the host, so concurrent runs do not
// conflict.
//
// The host needs, besides what "make test" needs: qemu-system-x86, qemu-utils, mmdebstrap, root. With translation, qemu 10
// (Debian 12 has it in bookworm-backports) starts programs four times as fast as 7.2.
// Machines end with this program. Nothing outside of build/vm is changed.
package main
