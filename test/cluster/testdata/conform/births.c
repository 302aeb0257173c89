// Every way to make a process or a thread, alone and mixed.
#include "conform.h"

#include <linux/sched.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>

extern char **environ;
static char self[4096]; // the path of this program

// report prints what this process is; children that exec begin with it.
static void report(const char *what)
{
	say("%s: I am " PID ", parent " PID ", group " PID ", session " PID, what,
	    getpid(), getppid(), getpgrp(), getsid(0));
}

// plain is both sides of a child that does nothing else.
static void plain(const char *what, pid_t pid, struct gate *g)
{
	if (pid == 0) {
		wait_at(g);
		report(what);
		_exit(3);
	}
	must(what, pid);
	say("%s gave " PID, what, pid);
	let_pass(g);
	reap(pid);
}

static void t_fork(void)
{
	struct gate g = make_gate();

	plain("fork", fork(), &g);
	plain("SYS_fork", syscall(SYS_fork), &g);
}

static void t_vfork(void)
{
	static volatile pid_t child;
	pid_t pid = vfork();

	if (pid == 0) {
		child = getpid();
		_exit(4);
	}
	check_pid("vfork", must("vfork", pid), child);
	reap(pid);
	pid = vfork();
	if (pid == 0) {
		execl(self, "vforked", "--report", "vfork and exec", NULL);
		_exit(127);
	}
	reap(pid);
}

static void t_clone(void)
{
	struct gate g = make_gate();
	int parent_tid = 0, pidfd = -1, status;
	static int child_tid;
	pid_t pid;

	plain("clone", syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0), &g);
	pid = syscall(SYS_clone, CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD, NULL, &parent_tid, &child_tid, 0);
	if (pid == 0)
		_exit(child_tid == getpid() ? 5 : 6);
	check_pid("parent's tid", parent_tid, pid);
	reap(pid);
	pid = syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, NULL, &pidfd, NULL, 0);
	if (pid == 0)
		_exit(7);
	must("clone with pidfd", pid);
	say("clone gave " PID " and a descriptor", pid);
	close(pidfd);
	reap(pid);
	// A child without an exit signal is waited for with __WCLONE.
	pid = syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	if (pid == 0)
		_exit(8);
	check_outcome("wait for a child without signal", waitpid(pid, &status, 0), "ECHILD");
	check_pid("__WCLONE", waitpid(pid, &status, __WCLONE), pid);
	say(PID " %s", pid, describe(status));
}

static void t_clone_parent(void)
{
	struct gate g = make_gate();
	pid_t me = getpid(), *sibling = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = must("fork", fork());

	if (child == 0) {
		pid_t pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);

		if (pid == 0) {
			wait_at(&g);
			report("sibling");
			check_pid("its parent", getppid(), me);
			_exit(9);
		}
		*sibling = must("clone", pid);
		_exit(0);
	}
	say("child " PID, child);
	reap(child);
	let_pass(&g);
	reap(*sibling);
}

static void t_clone3(void)
{
	struct gate g = make_gate();
	int pidfd = -1, parent_tid = 0;
	struct clone_args a = {.exit_signal = SIGCHLD};
	pid_t pid;

	plain("clone3", syscall(SYS_clone3, &a, sizeof a), &g);
	a.flags = CLONE_PIDFD | CLONE_PARENT_SETTID | CLONE_CLEAR_SIGHAND;
	a.pidfd = (unsigned long)&pidfd;
	a.parent_tid = (unsigned long)&parent_tid;
	pid = syscall(SYS_clone3, &a, sizeof a);
	if (pid == 0)
		_exit(10);
	check_pid("parent's tid", parent_tid, must("clone3", pid));
	siginfo_t info = {0};
	check_outcome("waitid by descriptor", waitid(P_PIDFD, pidfd, &info, WEXITED), "0");
	say(PID " exit %d", info.si_pid, info.si_status);
	close(pidfd);
	a.flags = CLONE_THREAD; // without CLONE_SIGHAND
	check_outcome("clone3 of half a thread", syscall(SYS_clone3, &a, sizeof a), "EINVAL");
	check_outcome("clone3 of a short size", syscall(SYS_clone3, &a, 8), "EINVAL");
	check_outcome("clone3 of nowhere", syscall(SYS_clone3, 8, sizeof a), "EFAULT");
}

// spawned makes a process by posix_spawn and waits for it.
static void spawned(char *what, const posix_spawnattr_t *a)
{
	char *argv[] = {"spawned", "--report", what, "with", "arguments", NULL};
	pid_t pid;
	int error = posix_spawn(&pid, self, NULL, a, argv, environ);

	if (error == 0)
		reap(pid);
	check_int("posix_spawn", error, 0);
}

static void t_spawn(void)
{
	char *argv[] = {"nothing", NULL};
	posix_spawnattr_t a;
	pid_t pid;

	spawned("posix_spawn", NULL);
	posix_spawnattr_init(&a);
	posix_spawnattr_setflags(&a, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&a, 0);
	spawned("posix_spawn in its group", &a);
	posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSID);
	spawned("posix_spawn in its session", &a);
	check_int("posix_spawn of nothing", posix_spawn(&pid, "/no/such/file", NULL, NULL, argv, environ), ENOENT);
}

struct thread {
	pid_t pid, ppid, tid, child;
	struct gate go;
};

static void *thread(void *arg)
{
	struct thread *t = arg;

	t->pid = getpid();
	t->ppid = getppid();
	t->tid = gettid();
	wait_at(&t->go);
	t->child = fork();
	if (t->child == 0) {
		report("child of a thread");
		_exit(11);
	}
	return NULL;
}

static void t_pthread(void)
{
	struct thread t[4];
	pthread_t id[4];

	for (int i = 0; i < 4; i++) {
		t[i].go = make_gate();
		check_int("pthread_create", pthread_create(&id[i], NULL, thread, &t[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		let_pass(&t[i].go);
		pthread_join(id[i], NULL);
		reap(t[i].child);
		check_pid("a thread's process", t[i].pid, getpid());
		check_pid("a thread's parent", t[i].ppid, getppid());
		say("a thread's number " PID "%s", t[i].tid, t[i].tid == getpid() ? " WRONG" : "");
	}
}

// mixing_thread forks by vfork a process that execs, which has a thread that spawns.
static void *mixing_thread(void *arg)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl(self, "mixed", "--mix", arg, NULL);
		_exit(127);
	}
	reap(pid);
	return NULL;
}

static int mix(const char *depth)
{
	char next[2] = {depth[0] - 1, 0};
	pthread_t id;

	report("mixture");
	if (depth[0] == '0')
		return 0;
	pid_t pid = must("fork", fork());
	if (pid == 0) {
		pthread_create(&id, NULL, mixing_thread, next);
		pthread_join(id, NULL);
		_exit(depth[0]);
	}
	reap(pid);
	return 12;
}

static void t_mixture(void)
{
	pthread_t id;

	check_int("mixture", mix("4"), 12);
	check_int("system", system("true; exit 3") >> 8, 3);
	pthread_create(&id, NULL, mixing_thread, "2");
	pthread_join(id, NULL);
}

// hold is a process that claims itself and lives until it is released.
static void hold(struct gate *claimed, struct gate *end)
{
	claim();
	let_pass(claimed);
	wait_at(end);
}

static void t_chain(void)
{
	struct gate claimed = make_gate(), end = make_gate();
	pid_t pid = 0;
	int depth = 0;

	for (; depth < 30 && pid == 0; depth++) {
		claim();
		pid = must("fork", fork());
	}
	if (pid == 0) { // the last one
		hold(&claimed, &end);
		_exit(0);
	}
	if (depth == 1) {
		wait_at(&claimed);
		quiet();
		let_pass(&end);
	}
	reap(pid);
	if (depth > 1)
		_exit(0);
}

static void t_wide(void)
{
	struct gate claimed = make_gate(), end = make_gate();
	pid_t pid[60];

	for (int i = 0; i < 60; i++) {
		pid[i] = must("fork", fork());
		if (pid[i] == 0) {
			if (i % 3 == 0)
				setpgid(0, 0);
			if (i % 7 == 0)
				setsid();
			hold(&claimed, &end);
			_exit(i);
		}
	}
	for (int i = 0; i < 60; i++)
		wait_at(&claimed);
	quiet();
	for (int i = 0; i < 60; i++)
		let_pass(&end);
	for (int i = 0; i < 60; i++)
		reap(pid[i]);
}

// The name and the arguments change with exec.
static void t_names(void)
{
	struct gate claimed = make_gate(), end = make_gate();
	char in[12], out[12];
	pid_t pid = must("fork", fork());

	if (pid == 0) {
		hold(&claimed, &end);
		snprintf(in, sizeof in, "%d", claimed.fd[1]);
		snprintf(out, sizeof out, "%d", end.fd[0]);
		execl(self, "named", "--hold", in, out, "", "an empty one before", "\xc3\xa4\t\x01", NULL);
		_exit(127);
	}
	wait_at(&claimed);
	quiet();
	let_pass(&end);
	wait_at(&claimed);
	quiet();
	let_pass(&end);
	reap(pid);
}

static const struct test tests[] = {
	{"fork", t_fork}, {"vfork", t_vfork}, {"clone", t_clone}, {"clone parent", t_clone_parent},
	{"clone3", t_clone3}, {"posix_spawn", t_spawn}, {"pthread_create", t_pthread},
	{"mixture", t_mixture}, {"chain", t_chain}, {"wide", t_wide}, {"names", t_names}, {NULL, NULL},
};

int main(int argc, char **argv)
{
	must("readlink", readlink("/proc/self/exe", self, sizeof self - 1));
	if (argc > 2 && strcmp(argv[1], "--report") == 0) {
		report(argv[2]);
		return argc;
	}
	if (argc > 2 && strcmp(argv[1], "--mix") == 0)
		return mix(argv[2]);
	if (argc > 3 && strcmp(argv[1], "--hold") == 0) {
		struct gate claimed = {{-1, atoi(argv[2])}}, end = {{atoi(argv[3]), -1}};

		hold(&claimed, &end);
		return 13;
	}
	return run_tests(tests, argc, argv);
}
