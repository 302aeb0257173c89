// Parents, groups and sessions: read, changed and inherited.
#include "conform.h"

#include <pthread.h>

// A number that no process has: above every pid_max.
#define NOBODY 0x7ffffff0

static void t_getters(void)
{
	pid_t parent = getppid();

	say("parent " PID, parent);
	check_pid("getpgrp", getpgrp(), getpgid(0));
	check_pid("getpgid(self)", getpgid(getpid()), getpgrp());
	check_pid("getsid(self)", getsid(getpid()), getsid(0));
	say("parent's group " PID, getpgid(parent));
	say("parent's session " PID, getsid(parent));
	say("leader's group " PID, getpgid(getsid(0)));
	say("leader's session " PID, getsid(getsid(0)));
	say("init's group " PID, getpgid(1));
	say("init's session " PID, getsid(1));
	check_outcome("getpgid(nobody)", getpgid(NOBODY), "ESRCH");
	check_outcome("getsid(nobody)", getsid(NOBODY), "ESRCH");
	check_outcome("getpgid(-1)", getpgid(-1), "ESRCH");
	check_outcome("getsid(-1)", getsid(-1), "ESRCH");
	check_outcome("getpgid(least)", getpgid(0x80000000), "ESRCH");
	claim();
	quiet();
}

// The parents of the process that runs this list, all the way up.
static void t_ancestors(void)
{
	pid_t me = getpid(), pid = must("fork", fork());

	if (pid == 0) {
		check_pid("grandchild's parent", getppid(), me);
		check_pid("its group", getpgid(getppid()), getpgrp());
		check_pid("its session", getsid(getppid()), getsid(0));
		_exit(0);
	}
	reap(pid);
}

static void *ask_in_thread(void *arg)
{
	pid_t *want = arg;

	check_pid("parent in thread", getppid(), want[0]);
	check_pid("group in thread", getpgrp(), want[1]);
	check_pid("group of thread's number", getpgid(gettid()), want[1]);
	check_pid("session of thread's number", getsid(gettid()), want[2]);
	check_outcome("setpgid by thread", setpgid(0, 0), "0");
	return NULL;
}

static void t_threads(void)
{
	pid_t want[3] = {getppid(), getpgrp(), getsid(0)};
	pthread_t id;

	pthread_create(&id, NULL, ask_in_thread, want);
	pthread_join(id, NULL);
	check_pid("group is", getpgrp(), getpid());
	claim();
	quiet();
}

// sleeper is a child that sleeps until its end of the gate opens.
static pid_t sleeper(struct gate *end)
{
	pid_t pid = must("fork", fork());

	if (pid == 0) {
		wait_at(end);
		_exit(0);
	}
	return pid;
}

static void t_setpgid(void)
{
	struct gate end = make_gate();
	pid_t a = sleeper(&end), b = sleeper(&end), c = sleeper(&end), home = getpgrp();

	say("children " PID " " PID " " PID " of group " PID, a, b, c, home);
	check_outcome("setpgid(a, 0)", setpgid(a, 0), "0");
	check_pid("a's group", getpgid(a), a);
	check_outcome("setpgid(b, a)", setpgid(b, a), "0");
	check_pid("b's group", getpgid(b), a);
	check_outcome("setpgid(c, c)", setpgid(c, c), "0");
	claim();
	claim_child(a, 'S');
	claim_child(b, 'S');
	claim_child(c, 'S');
	quiet();
	check_outcome("setpgid(0, a)", setpgid(0, a), "0");
	check_pid("my group", getpgrp(), a);
	claim();
	quiet();
	check_outcome("back home", setpgid(0, home), "0");
	check_pid("my group", getpgrp(), home);
	check_outcome("a home", setpgid(a, home), "0");
	check_pid("a's group", getpgid(a), home);
	check_outcome("a again", setpgid(a, a), "0");
	check_outcome("c home by parent's group", setpgid(c, getpgid(getppid())), "0");
	claim();
	claim_child(a, 'S');
	claim_child(b, 'S');
	claim_child(c, 'S');
	quiet();
	for (int i = 0; i < 3; i++)
		let_pass(&end);
	reap(a);
	reap(b);
	reap(c);
}

static void t_setpgid_errors(void)
{
	struct gate end = make_gate(), there = make_gate(), go = make_gate();
	pid_t a = sleeper(&end), pid;

	check_outcome("no such group", setpgid(0, NOBODY), "EPERM");
	check_outcome("negative group", setpgid(0, -1), "EINVAL");
	check_outcome("negative process", setpgid(-1, getpgrp()), "ESRCH");
	check_outcome("no such process", setpgid(NOBODY, 0), "ESRCH");
	check_outcome("a parent", setpgid(getppid(), 0), "ESRCH");
	check_outcome("init", setpgid(1, 0), "ESRCH");
	check_outcome("init's group", setpgid(0, 1), "EPERM");
	check_outcome("group of a process that leads none", setpgid(0, a), "EPERM");
	pid = must("fork", fork());
	if (pid == 0) {
		check_outcome("setsid", setsid() == getpid() ? 0 : -1, "0");
		check_outcome("leader's setpgid", setpgid(0, 0), "EPERM");
		check_outcome("leader's setsid", setsid(), "EPERM");
		let_pass(&there);
		wait_at(&go);
		_exit(0);
	}
	wait_at(&there);
	check_outcome("child in another session", setpgid(pid, 0), "EPERM");
	check_outcome("group of another session", setpgid(0, pid), "EPERM");
	check_outcome("child into group of another session", setpgid(a, pid), "EPERM");
	let_pass(&go);
	reap(pid);
	check_outcome("an ended process", setpgid(pid, 0), "ESRCH");
	pid = must("fork", fork());
	if (pid == 0) {
		let_pass(&there);
		dup2(go.fd[0], 0);
		execlp("cat", "cat", NULL);
		_exit(127);
	}
	wait_at(&there);
	char comm[16] = "";
	while (strcmp(comm, "cat\n") != 0)
		read_proc(pid, "comm", comm, sizeof comm);
	check_outcome("child after exec", setpgid(pid, 0), "EACCES");
	kill(pid, SIGKILL);
	reap(pid);
	let_pass(&end);
	reap(a);
}

static void t_setsid(void)
{
	struct gate claimed = make_gate(), end = make_gate();
	pid_t pid = must("fork", fork());

	if (pid == 0) {
		check_pid("setsid", setsid(), getpid());
		check_pid("group", getpgrp(), getpid());
		check_pid("session", getsid(0), getpid());
		pid_t child = sleeper(&end), other = sleeper(&end);
		check_pid("child's session", getsid(child), getpid());
		check_outcome("setpgid in the session", setpgid(child, 0), "0");
		claim();
		claim_child(child, 'S');
		claim_child(other, 'S');
		let_pass(&claimed);
		wait_at(&end);
		reap(child);
		reap(other);
		_exit(0);
	}
	wait_at(&claimed);
	check_pid("session seen by parent", getsid(pid), pid);
	check_pid("group seen by parent", getpgid(pid), pid);
	claim();
	quiet();
	for (int i = 0; i < 3; i++)
		let_pass(&end);
	reap(pid);
	check_outcome("session after its end", getsid(pid), "ESRCH");
}

// orphan makes a grandchild whose parent ends, and prints its number.
static pid_t orphan(struct gate *claimed, struct gate *go, struct gate *end)
{
	int fd[2];
	pid_t pid, grandchild = 0;

	must("pipe", pipe(fd));
	pid = must("fork", fork());
	if (pid == 0) {
		grandchild = must("fork", fork());
		if (grandchild == 0) {
			wait_at(go);
			say("orphan " PID " has parent " PID ", group " PID ", session " PID,
			    getpid(), getppid(), getpgrp(), getsid(0));
			claim();
			let_pass(claimed);
			wait_at(end);
			_exit(6);
		}
		must("write", write(fd[1], &grandchild, sizeof grandchild));
		_exit(5);
	}
	must("read", read(fd[0], &grandchild, sizeof grandchild));
	say("child " PID ", grandchild " PID, pid, grandchild);
	reap(pid);
	let_pass(go);
	wait_at(claimed);
	quiet();
	return grandchild;
}

static void t_orphan(void)
{
	struct gate claimed = make_gate(), go = make_gate(), end = make_gate();

	orphan(&claimed, &go, &end);
	let_pass(&end);
}

static void t_subreaper(void)
{
	struct gate claimed = make_gate(), go = make_gate(), end = make_gate();
	int on = -1;

	check_outcome("become subreaper", prctl(PR_SET_CHILD_SUBREAPER, 1), "0");
	check_outcome("ask", prctl(PR_GET_CHILD_SUBREAPER, &on), "0");
	check_int("am one", on, 1);
	pid_t adopted = orphan(&claimed, &go, &end);
	let_pass(&end);
	reap(adopted);
	// A child does not inherit it, and its orphans come here.
	pid_t child = must("fork", fork());
	if (child == 0) {
		check_outcome("ask", prctl(PR_GET_CHILD_SUBREAPER, &on), "0");
		check_int("child is none", on, 0);
		adopted = orphan(&claimed, &go, &end);
		check_outcome("not its child", waitpid(adopted, NULL, WNOHANG), "ECHILD");
		let_pass(&end);
		_exit(0);
	}
	reap(child);
	int status;
	pid_t pid = must("wait for the adopted", wait(&status));
	say("adopted " PID " %s", pid, describe(status));
	check_outcome("no more", wait(NULL), "ECHILD");
	// After it is no subreaper any more.
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	orphan(&claimed, &go, &end);
	check_outcome("not mine", wait(NULL), "ECHILD");
	let_pass(&end);
}

// A subreaper that ends passes on what it has adopted.
static void t_subreaper_ends(void)
{
	struct gate claimed = make_gate(), go = make_gate(), end = make_gate(), again = make_gate();
	pid_t mid, leaf;
	int fd[2];

	must("pipe", pipe(fd));
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	mid = must("fork", fork());
	if (mid == 0) {
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		pid_t below = must("fork", fork());
		if (below == 0) {
			leaf = must("fork", fork());
			if (leaf == 0) {
				for (int i = 0; i < 2; i++) {
					wait_at(i ? &again : &go);
					say("leaf has parent " PID, getppid());
					claim();
					let_pass(&claimed);
				}
				wait_at(&end);
				_exit(7);
			}
			must("write", write(fd[1], &leaf, sizeof leaf));
			_exit(0);
		}
		say("below the inner one " PID, below);
		reap(below);
		let_pass(&go);
		wait_at(&claimed);
		quiet();
		_exit(0);
	}
	must("read", read(fd[0], &leaf, sizeof leaf));
	reap(mid);
	let_pass(&again);
	wait_at(&claimed);
	quiet();
	let_pass(&end);
	reap(leaf);
}

static const struct test tests[] = {
	{"getters", t_getters}, {"ancestors", t_ancestors}, {"threads", t_threads},
	{"setpgid", t_setpgid}, {"setpgid's errors", t_setpgid_errors}, {"setsid", t_setsid},
	{"orphan", t_orphan}, {"subreaper", t_subreaper}, {"subreaper ends", t_subreaper_ends},
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	return run_tests(tests, argc, argv);
}
