// Every call about processes, with invalid numbers and pointers. Only signal 0 is sent, so no
// process is harmed.
#include "conform.h"

#include <linux/sched.h>

static const struct {
	const char *name;
	long value;
} numbers[] = {
	{"-1", -1}, {"least", 0x80000000L}, {"most", 0x7fffffff}, {"zone", 1 << 20}, {"last", (1 << 22) - 1},
	{"beyond", 1 << 22}, {"high bits", 1L << 32}, {"all high bits", (long)0xffffffff00000000UL},
	{"long least", (long)(1UL << 63)}, {"-2", -2}, {"minus most", -0x7fffffffL},
};

enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static const char *raw(long nr, long a, long b, long c, long d)
{
	return outcome(syscall(nr, a, b, c, d, 0, 0));
}

static void t_numbers(void)
{
	for (int i = 0; i < NUMBERS; i++) {
		long n = numbers[i].value;
		siginfo_t info = {.si_code = SI_QUEUE};

		say("with %s", numbers[i].name);
		if ((int)n != -1 && (int)n != 0) // those mean all processes and the caller's group
			say("kill %s", raw(SYS_kill, n, 0, 0, 0));
		say("tkill %s", raw(SYS_tkill, n, 0, 0, 0));
		say("tgkill %s", raw(SYS_tgkill, n, n, 0, 0));
		say("tgkill me %s", raw(SYS_tgkill, getpid(), n, 0, 0));
		say("rt_sigqueueinfo %s", raw(SYS_rt_sigqueueinfo, n, 0, (long)&info, 0));
		say("rt_tgsigqueueinfo %s", raw(SYS_rt_tgsigqueueinfo, n, n, 0, (long)&info));
		say("pidfd_open %s", raw(SYS_pidfd_open, n, 0, 0, 0));
		say("pidfd_open flags %s", raw(SYS_pidfd_open, getpid(), n & ~(1L << 32) ? n | 1 : 1, 0, 0));
		say("pidfd_send_signal %s", raw(SYS_pidfd_send_signal, n ? n : -1, 0, 0, 0));
		if ((int)n != 0) {
			say("getpgid %s", raw(SYS_getpgid, n, 0, 0, 0));
			say("getsid %s", raw(SYS_getsid, n, 0, 0, 0));
			say("setpgid %s", raw(SYS_setpgid, n, 0, 0, 0));
			say("setpgid to %s", raw(SYS_setpgid, 0, n, 0, 0));
		}
		say("setpgid both %s", (int)n ? raw(SYS_setpgid, n, n, 0, 0) : "not tried");
		say("wait4 %s", raw(SYS_wait4, n, 0, WNOHANG, 0));
		say("waitid %s", raw(SYS_waitid, n, n, 0, WEXITED | WNOHANG));
		say("prctl death signal %s", raw(SYS_prctl, PR_SET_PDEATHSIG, (int)n ? n : 65, 0, 0));
	}
}

// The high halves of the registers are not part of a number.
static void t_high_halves(void)
{
	unsigned long high = 0xdeadbeefUL << 32;
	pid_t me = getpid(), child = must("fork", fork());

	if (child == 0)
		for (;;)
			pause();
	say("kill %s", raw(SYS_kill, high | me, high, high, high));
	say("kill child %s", raw(SYS_kill, high | child, high, high, high));
	say("tgkill %s", raw(SYS_tgkill, high | me, high | me, high, high));
	say("tkill %s", raw(SYS_tkill, high | me, high, high, high));
	check_pid("getpgid", syscall(SYS_getpgid, high | child), getpgrp());
	check_pid("getsid", syscall(SYS_getsid, high | child), getsid(0));
	check_pid("getppid", syscall(SYS_getppid, high, high, high, high), getppid());
	say("setpgid %s", raw(SYS_setpgid, high | child, high, high, high));
	check_pid("its group", getpgid(child), child);
	claim_child(child, 'S');
	quiet();
	say("SIGKILL %s", raw(SYS_kill, high | child, high | SIGKILL, high, high));
	reap(child);
}

static void t_pointers(void)
{
	static const long bad[] = {1, 8, 0x7fffffffffffL, (long)0xffff800000000000UL, -1};
	int fd = syscall(SYS_pidfd_open, getpid(), 0);

	for (int i = 0; i < 5; i++) {
		say("rt_sigqueueinfo %s", raw(SYS_rt_sigqueueinfo, getpid(), 0, bad[i], 0));
		say("rt_sigqueueinfo to parent %s", raw(SYS_rt_sigqueueinfo, getppid(), 0, bad[i], 0));
		say("rt_sigqueueinfo to leader %s", raw(SYS_rt_sigqueueinfo, getsid(0), 0, bad[i], 0));
		say("rt_tgsigqueueinfo %s", raw(SYS_rt_tgsigqueueinfo, getpid(), getpid(), 0, bad[i]));
		say("pidfd_send_signal %s", raw(SYS_pidfd_send_signal, fd, 0, bad[i], 0));
		say("clone3 %s", raw(SYS_clone3, bad[i], sizeof(struct clone_args), 0, 0));
		say("wait4 %s", raw(SYS_wait4, -1, bad[i], WNOHANG, bad[i]));
		say("subreaper %s", raw(SYS_prctl, PR_GET_CHILD_SUBREAPER, bad[i], 0, 0));
		say("execve %s", raw(SYS_execve, bad[i], bad[i], bad[i], 0));
		say("getgroups %s", raw(SYS_getresuid, bad[i], bad[i], bad[i], 0));
	}
}

static void t_credentials(void)
{
	static const long calls[] = {SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
				     SYS_setfsuid, SYS_setfsgid, SYS_setgroups};

	for (int i = 0; i < 9; i++)
		for (int k = 0; k < 2; k++)
			say("call %d %s", i, raw(calls[i], k ? 0xdeadbeeffffffffeL : -1, -1, -1, 0));
}

static const struct test tests[] = {
	{"numbers", t_numbers}, {"high halves", t_high_halves}, {"pointers", t_pointers},
	{"credentials", t_credentials}, {NULL, NULL},
};

int main(int argc, char **argv)
{
	return run_tests(tests, argc, argv);
}
