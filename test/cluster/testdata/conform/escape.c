// Attempts to get around the confinement of a process in its space: filters of its own, calls of
// other architectures, namespaces.
#include "hostile.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

// filter installs a filter that answers a call with action, and allows all others.
static long filter(long call, unsigned action, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void child_works(void)
{
	pid_t me = getpid(), pid = fork();

	if (pid == 0)
		_exit(getppid() == me && kill(me, 0) == 0 ? 5 : 6);
	reap(pid);
}

static void allow(void)
{
	say("filter %s", outcome(filter(SYS_getppid, SECCOMP_RET_ALLOW, 0)));
	child_works();
}

static void refuse(void)
{
	say("filter %s", outcome(filter(SYS_getpgid, SECCOMP_RET_ERRNO | EDOM, 0)));
	say("getpgid %s", outcome(syscall(SYS_getpgid, getppid()) < 0 ? -1 : 0));
	child_works();
}

static void deadly(void)
{
	say("filter %s", outcome(filter(SYS_getppid, SECCOMP_RET_KILL_PROCESS, 0)));
	getppid();
}

static void listener(void)
{
	long fd = filter(SYS_getpgid, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);

	say("listener %s", fd < 0 ? outcome(-1) : "given");
	child_works();
}

static void orphaned_notifications(void)
{
	say("filter without listener %s", outcome(filter(SYS_setpgid, SECCOMP_RET_USER_NOTIF, 0)));
	say("setpgid %s", outcome(setpgid(0, 0)));
	child_works();
}

static void strict(void)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_exit, 9);
}

static void t_filters(void)
{
	attempt("one that allows", allow);
	attempt("one that refuses", refuse);
	attempt("one that kills", deadly);
	attempt("one with a listener", listener);
	attempt("one that notifies nobody", orphaned_notifications);
	attempt("strict mode", strict);
}

#ifdef __x86_64__
static long int80(long nr, long a, long b)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(nr), "b"(a), "c"(b), "d"(0) : "memory", "r8", "r9", "r10", "r11");
	return (int)result;
}

static void show32(const char *what, long result)
{
	if (result < 0)
		say("32-bit %s: %s", what, strerrorname_np(-result));
	else
		say("32-bit %s: " PID, what, (int)result);
}

static void getpid32(void) { show32("getpid", int80(20, 0, 0)); }
static void getppid32(void) { show32("getppid", int80(64, 0, 0)); }
static void kill32(void) { show32("kill", int80(37, getpid(), 0)); }
static void kill_all32(void) { show32("kill of all", int80(37, -1, 0)); }

// Whatever the result is, the front end must show the state after it.
static void setsid32(void)
{
	show32("setsid", int80(66, 0, 0));
	claim();
	quiet();
}

static void fork32(void)
{
	long pid = int80(2, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	show32("fork", pid < 0 ? pid : 0);
}

static void x32(void)
{
	say("x32 getpid %s", syscall(0x40000000 | SYS_getpid) < 0 ? outcome(-1) : "done");
	say("x32 kill %s", outcome(syscall(0x40000000 | SYS_kill, getpid(), 0)));
}

static void t_architectures(void)
{
	attempt("getpid", getpid32);
	attempt("getppid", getppid32);
	attempt("kill", kill32);
	attempt("kill of all", kill_all32);
	attempt("setsid", setsid32);
	attempt("fork", fork32);
	attempt("x32", x32);
}
#else
static void t_architectures(void)
{
	say("no other architecture");
}
#endif

static int unshared;

static void try_unshare(void)
{
	say("unshare %#x: %s", unshared, outcome(unshare(unshared)));
	child_works();
	try_child("a child then", 0);
}

static void t_unshare(void)
{
	static const int flags[] = {CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWCGROUP,
				    0x80 /* CLONE_NEWTIME */, CLONE_NEWUSER | CLONE_NEWPID};

	for (int i = 0; i < 9; i++) {
		unshared = flags[i];
		attempt("unshare", try_unshare);
	}
}

static void t_clone(void)
{
	try_child("clone", 0);
	try_child("clone in a new PID namespace", CLONE_NEWPID);
	try_child("clone in a new user namespace", CLONE_NEWUSER);
	try_child("clone in new user and PID namespaces", CLONE_NEWUSER | CLONE_NEWPID);
	try_child("clone in all new namespaces",
		  CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP);
}

static const char *entered;

static void try_setns(void)
{
	int fd = open(entered, O_RDONLY);

	say("setns to %s: %s", entered, outcome(fd < 0 ? -1 : setns(fd, 0)));
	child_works();
}

static void t_setns(void)
{
	static const char *const paths[] = {"/proc/1/ns/pid", "/proc/1/ns/mnt", "/proc/1/ns/user", "/proc/1/ns/net", "/proc/1/ns/cgroup",
					    "/proc/self/ns/pid", "/proc/self/ns/mnt"};
	int fd = syscall(SYS_pidfd_open, 1, 0);

	for (int i = 0; i < 7; i++) {
		entered = paths[i];
		attempt("setns", try_setns);
	}
	say("setns by descriptor of init: %s", outcome(fd < 0 ? -1 : setns(fd, CLONE_NEWPID)));
}

static const struct test tests[] = {
	{"filters", t_filters}, {"architectures", t_architectures}, {"unshare", t_unshare}, {"clone", t_clone},
	{"setns", t_setns}, {NULL, NULL},
};

int main(int argc, char **argv)
{
	return run_tests(tests, argc, argv);
}
