// wait4, waitid and their options, and what becomes of children.
#include "conform.h"

#include <pthread.h>
#include <sys/resource.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static pid_t exits(int code)
{
	pid_t pid = must("fork", fork());

	if (pid == 0)
		_exit(code);
	return pid;
}

// sleeper is a child that only a signal ends.
static pid_t sleeper(void)
{
	pid_t pid = must("fork", fork());

	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

static void zombie(pid_t pid)
{
	siginfo_t info;

	must("wait for a zombie", waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
}

static void show(const char *what, long result, const siginfo_t *info)
{
	say("%s %s: signal %d code %d pid " PID " uid %d status %d", what, outcome(result), info->si_signo,
	    info->si_code, info->si_pid, info->si_uid == getuid() ? 0 : info->si_uid, info->si_status);
}

static void t_wait4(void)
{
	struct rusage usage = {.ru_nvcsw = -1};
	int status = 0;
	pid_t a = exits(3), b = sleeper(), got;

	check_pid("wait4", wait4(a, &status, 0, &usage), a);
	say("%s, usage %s", describe(status), usage.ru_nvcsw < 0 ? "WRONG" : "told");
	check_outcome("again", wait4(a, &status, 0, NULL), "ECHILD");
	check_outcome("WNOHANG", wait4(b, &status, WNOHANG, NULL), "0");
	check_outcome("WNOHANG of all", wait4(-1, &status, WNOHANG, NULL), "0");
	check_outcome("of my group", wait4(0, &status, WNOHANG, NULL), "0");
	check_outcome("of another group", wait4(-b, &status, WNOHANG, NULL), "ECHILD");
	check_outcome("setpgid", setpgid(b, 0), "0");
	check_outcome("of my group", wait4(0, &status, WNOHANG, NULL), "ECHILD");
	check_outcome("of its group", wait4(-b, &status, WNOHANG, NULL), "0");
	check_outcome("bad options", wait4(-1, &status, 0x10, NULL), "EINVAL");
	check_outcome("of the least", wait4(0x80000000, &status, 0, NULL), "ESRCH");
	check_outcome("of init", wait4(1, &status, 0, NULL), "ECHILD");
	check_outcome("of my parent", wait4(getppid(), &status, WNOHANG, NULL), "ECHILD");
	check_outcome("__WCLONE", wait4(b, &status, __WCLONE | WNOHANG, NULL), "ECHILD");
	check_outcome("__WALL", wait4(b, &status, __WALL | WNOHANG, NULL), "0");
	check_outcome("__WNOTHREAD", wait4(b, &status, __WNOTHREAD | WNOHANG, NULL), "0");
	kill(b, SIGKILL);
	got = wait4(-b, &status, 0, NULL);
	say(PID " %s", got, describe(status));
	check_outcome("without children", wait4(-1, &status, 0, NULL), "ECHILD");
}

static void t_waitid(void)
{
	siginfo_t info = {0};
	pid_t a = exits(4), b = sleeper();
	int fd = must("pidfd_open", syscall(SYS_pidfd_open, b, 0));

	say("children " PID " " PID, a, b);
	show("WNOWAIT", waitid(P_PID, a, &info, WEXITED | WNOWAIT), &info);
	show("P_PID", waitid(P_PID, a, &info, WEXITED), &info);
	check_outcome("again", waitid(P_PID, a, &info, WEXITED), "ECHILD");
	memset(&info, 0, sizeof info);
	show("WNOHANG", waitid(P_ALL, 0, &info, WEXITED | WNOHANG), &info);
	show("P_PGID 0", waitid(P_PGID, 0, &info, WEXITED | WNOHANG), &info);
	check_outcome("P_PGID of none", waitid(P_PGID, b, &info, WEXITED | WNOHANG), "ECHILD");
	check_outcome("no options", waitid(P_ALL, 0, &info, 0), "EINVAL");
	check_outcome("P_PID 0", waitid(P_PID, 0, &info, WEXITED), "EINVAL");
	check_outcome("a kind that is none", waitid(17, 0, &info, WEXITED), "EINVAL");
	check_outcome("P_PIDFD of a pipe", waitid(P_PIDFD, 0, &info, WEXITED), "EBADF");
	kill(b, SIGSTOP);
	show("WSTOPPED", waitid(P_PID, b, &info, WSTOPPED), &info);
	memset(&info, 0, sizeof info);
	show("once", waitid(P_PID, b, &info, WSTOPPED | WNOHANG), &info);
	kill(b, SIGCONT);
	show("WCONTINUED and WNOWAIT", waitid(P_PIDFD, fd, &info, WCONTINUED | WNOWAIT), &info);
	show("WCONTINUED", waitid(P_PIDFD, fd, &info, WCONTINUED), &info);
	memset(&info, 0, sizeof info);
	show("once", waitid(P_PID, b, &info, WCONTINUED | WNOHANG), &info);
	kill(b, SIGABRT);
	show("P_PIDFD", waitid(P_PIDFD, fd, &info, WEXITED | WSTOPPED), &info);
	check_outcome("without children", waitid(P_ALL, 0, &info, WEXITED), "ECHILD");
	close(fd);
}

static void t_statuses(void)
{
	for (int code = 0; code < 256; code += 51)
		reap(exits(code));
	for (int sig = 1; sig <= 64; sig++) {
		pid_t pid;

		if (sig == SIGCHLD || sig == SIGURG || sig == SIGWINCH || sig == SIGCONT || (sig >= SIGSTOP && sig <= SIGTTOU))
			continue;
		pid = sleeper();
		kill(pid, sig);
		if (sig == 32 || sig == 33) // glibc keeps them
			kill(pid, SIGKILL);
		reap(pid);
	}
}

static void t_zombies(void)
{
	pid_t z[3];

	for (int i = 0; i < 3; i++) {
		z[i] = exits(i);
		zombie(z[i]);
		claim_as(z[i], getpid(), 'Z');
	}
	claim();
	quiet();
	check_outcome("kill of a zombie", kill(z[0], SIGKILL), "0");
	check_outcome("its group", getpgid(z[0]) == getpgrp() ? 0 : -1, "0");
	check_outcome("setpgid of a zombie", setpgid(z[1], 0), "0");
	check_pid("its group", getpgid(z[1]), z[1]);
	for (int i = 0; i < 3; i++)
		reap(z[i]);
}

// vanishes waits until a process without a waiting parent is gone: a moment after the kernel
// reports that there is no child.
static void vanishes(pid_t pid)
{
	while (kill(pid, 0) == 0)
		sched_yield();
	check_outcome("it is gone", kill(pid, 0), "ESRCH");
}

static void t_ignored(void)
{
	struct sigaction a = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};

	signal(SIGCHLD, SIG_IGN);
	pid_t pid = exits(5);
	check_outcome("wait with SIGCHLD ignored", waitpid(pid, NULL, 0), "ECHILD");
	vanishes(pid);
	sigaction(SIGCHLD, &a, NULL);
	pid = exits(6);
	check_outcome("wait with SA_NOCLDWAIT", wait(NULL), "ECHILD");
	vanishes(pid);
	pid = sleeper();
	check_outcome("WNOHANG", waitpid(pid, NULL, WNOHANG), "0");
	claim();
	claim_child(pid, 'S');
	quiet();
	kill(pid, SIGKILL);
	check_outcome("wait", waitpid(pid, NULL, 0), "ECHILD");
	signal(SIGCHLD, SIG_DFL);
	reap(exits(7));
}

// told waits for SIGCHLD and prints its siginfo; the signal may come after the wait that it
// announces is possible.
static void told(const char *what)
{
	struct timespec patience = {.tv_sec = PATIENCE};
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	must("sigtimedwait", sigtimedwait(&set, &info, &patience));
	show(what, 0, &info);
}

static void t_sigchld(void)
{
	struct sigaction a = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
	struct timespec now = {0};
	sigset_t set;
	int status;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid_t pid = sleeper();
	kill(pid, SIGSTOP);
	told("stop");
	must("wait", waitpid(pid, &status, WUNTRACED));
	say(PID " %s", pid, describe(status));
	kill(pid, SIGCONT);
	told("continue");
	must("wait", waitpid(pid, &status, WCONTINUED));
	say(PID " %s", pid, describe(status));
	sigaction(SIGCHLD, &a, NULL);
	kill(pid, SIGSTOP);
	must("wait", waitpid(pid, &status, WUNTRACED));
	say(PID " %s", pid, describe(status));
	check_outcome("with SA_NOCLDSTOP", sigtimedwait(&set, NULL, &now), "EAGAIN");
	kill(pid, SIGKILL);
	told("end");
	must("wait", waitpid(pid, &status, 0));
	say(PID " %s", pid, describe(status));
}

static pid_t thread_child;

static void *wait_in_thread(void *arg)
{
	int status;

	check_outcome("__WNOTHREAD of another's child", waitpid(thread_child, &status, __WNOTHREAD | WNOHANG), "ECHILD");
	check_pid("another thread's child", waitpid(thread_child, &status, 0), thread_child);
	say("%s", describe(status));
	return NULL;
}

static void t_threads(void)
{
	pthread_t id;

	thread_child = exits(8);
	pthread_create(&id, NULL, wait_in_thread, NULL);
	pthread_join(id, NULL);
}

// Zombies that were not waited for go to the adopter.
static void t_inherited_zombie(void)
{
	siginfo_t info;
	pid_t mid, leaf;
	int fd[2], status;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	must("pipe", pipe(fd));
	mid = must("fork", fork());
	if (mid == 0) {
		leaf = exits(9);
		zombie(leaf);
		must("write", write(fd[1], &leaf, sizeof leaf));
		_exit(0);
	}
	must("read", read(fd[0], &leaf, sizeof leaf));
	zombie(mid);
	must("waitid", waitid(P_PID, leaf, &info, WEXITED | WNOWAIT));
	say("child " PID " left " PID " with %d", mid, leaf, info.si_status);
	reap(mid);
	check_pid("the adopted zombie", wait(&status), leaf);
	say("%s", describe(status));
	check_outcome("no more", wait(NULL), "ECHILD");
}

static const struct test tests[] = {
	{"wait4", t_wait4}, {"waitid", t_waitid}, {"statuses", t_statuses}, {"zombies", t_zombies},
	{"ignored", t_ignored}, {"SIGCHLD", t_sigchld}, {"threads", t_threads},
	{"inherited zombie", t_inherited_zombie}, {NULL, NULL},
};

int main(int argc, char **argv)
{
	return run_tests(tests, argc, argv);
}
