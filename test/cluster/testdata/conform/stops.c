// Stops and continues, and groups that are orphaned.
#include "conform.h"

static pid_t sleeper(struct gate *ready)
{
	pid_t pid = must("fork", fork());

	if (pid == 0) {
		let_pass(ready);
		for (;;)
			pause();
	}
	wait_at(ready);
	return pid;
}

static struct gate answers;

static void answer(int sig)
{
	let_pass(&answers);
}

// settled waits until a sleeper has taken all earlier signals: one with a higher number comes after
// them.
static void settled(pid_t pid)
{
	kill(pid, SIGRTMAX);
	wait_at(&answers);
}

static void stops(pid_t pid)
{
	int status;

	must("wait for a stop", waitpid(pid, &status, WUNTRACED));
	say(PID " %s", pid, describe(status));
}

static void continues(pid_t pid)
{
	int status;

	must("wait for a continue", waitpid(pid, &status, WCONTINUED));
	say(PID " %s", pid, describe(status));
}

static void t_stop(void)
{
	struct gate ready = make_gate();
	pid_t pid = sleeper(&ready);

	for (int round = 0; round < 3; round++) {
		check_outcome("SIGSTOP", kill(pid, SIGSTOP), "0");
		stops(pid);
		claim_child(pid, 'T');
		quiet();
		check_outcome("SIGCONT", kill(pid, SIGCONT), "0");
		continues(pid);
		claim_child(pid, 'S');
		quiet();
	}
	kill(pid, SIGSTOP);
	stops(pid);
	check_outcome("SIGTERM of a stopped one", kill(pid, SIGTERM), "0");
	claim_child(pid, 'T');
	quiet();
	check_outcome("SIGCONT", kill(pid, SIGCONT), "0");
	reap(pid);
	pid = sleeper(&ready);
	kill(pid, SIGSTOP);
	stops(pid);
	check_outcome("SIGKILL of a stopped one", kill(pid, SIGKILL), "0");
	reap(pid);
}

// A session of its own, with a group that has a parent outside of it, and so is stopped by the
// signals of a terminal.
static void t_terminal_stops(void)
{
	static const int sigs[] = {SIGTSTP, SIGTTIN, SIGTTOU};
	struct gate ready = make_gate();
	pid_t leader = must("fork", fork());

	if (leader) {
		reap(leader);
		return;
	}
	setsid();
	answers = make_gate();
	signal(SIGRTMAX, answer);
	pid_t pid = sleeper(&ready);
	for (int i = 0; i < 3; i++) { // in the leader's own group, which is orphaned
		check_outcome("a stop that is none", kill(pid, sigs[i]), "0");
		settled(pid);
		check_outcome("not stopped", waitpid(pid, NULL, WUNTRACED | WNOHANG), "0");
	}
	setpgid(pid, 0);
	for (int i = 0; i < 3; i++) {
		check_outcome("a stop", kill(-pid, sigs[i]), "0");
		stops(pid);
		claim_child(pid, 'T');
		quiet();
		kill(pid, SIGCONT);
		continues(pid);
	}
	kill(pid, SIGKILL);
	reap(pid);
	_exit(0);
}

// A process stops itself, and its sibling is not affected.
static void t_self(void)
{
	struct gate ready = make_gate();
	pid_t brother = sleeper(&ready), pid = must("fork", fork());

	if (pid == 0) {
		raise(SIGSTOP);
		say("continued");
		kill(getpid(), SIGSTOP);
		say("continued again");
		_exit(9);
	}
	stops(pid);
	claim_child(pid, 'T');
	claim_child(brother, 'S');
	quiet();
	check_outcome("the brother", waitpid(brother, NULL, WUNTRACED | WNOHANG), "0");
	kill(pid, SIGCONT);
	stops(pid);
	claim_child(pid, 'T');
	quiet();
	kill(pid, SIGCONT);
	reap(pid);
	kill(brother, SIGKILL);
	reap(brother);
}

// A whole group is stopped and continued, a grandchild with it.
static void t_group(void)
{
	struct gate ready = make_gate();
	pid_t a = must("fork", fork()), b;

	if (a == 0) {
		setpgid(0, 0);
		sleeper(&ready);
		claim();
		let_pass(&ready);
		for (;;)
			pause();
	}
	wait_at(&ready);
	b = sleeper(&ready);
	setpgid(b, a);
	claim_child(b, 'S');
	quiet();
	check_outcome("stop", kill(-a, SIGSTOP), "0");
	stops(a);
	stops(b);
	claim_child(a, 'T');
	claim_child(b, 'T');
	quiet();
	check_outcome("continue", kill(-a, SIGCONT), "0");
	continues(a);
	continues(b);
	claim_child(a, 'S');
	claim_child(b, 'S');
	quiet();
	kill(-a, SIGKILL);
	reap(a);
	reap(b);
}

// The end of the parent orphans a group with a stopped member: the kernel sends
// SIGHUP and SIGCONT.
static void t_orphaned(void)
{
	struct gate ready = make_gate(), heard = make_gate();
	pid_t parent;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	parent = must("fork", fork());
	if (parent == 0) {
		sigset_t set;
		int sig;

		sigemptyset(&set);
		sigaddset(&set, SIGHUP);
		sigprocmask(SIG_BLOCK, &set, NULL);
		setsid();
		pid_t pid = must("fork", fork());
		if (pid == 0) {
			setpgid(0, 0);
			let_pass(&ready);
			sigwait(&set, &sig);
			wait_at(&heard);
			say("orphaned: got %d, parent now " PID, sig, getppid());
			_exit(10);
		}
		wait_at(&ready);
		kill(pid, SIGSTOP);
		stops(pid);
		claim_child(pid, 'T');
		quiet();
		_exit(11);
	}
	reap(parent);
	let_pass(&heard);
	reap(-1);
}

static const struct test tests[] = {
	{"stop", t_stop}, {"stops of terminals", t_terminal_stops}, {"self", t_self},
	{"group", t_group}, {"orphaned", t_orphaned}, {NULL, NULL},
};

int main(int argc, char **argv)
{
	return run_tests(tests, argc, argv);
}
