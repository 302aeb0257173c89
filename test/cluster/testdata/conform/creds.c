// Users and groups of processes: changed by calls and by set-uid programs. The operand is a
// directory with set-uid copies of this program, suid-root and suid-bob, and sgid-bob.
#include "conform.h"

#include <grp.h>
#include <pthread.h>
#include <sys/fsuid.h>

// The users of the tests.
#define ALICE 12345
#define BOB 12346

static const char *directory;

static void show(const char *what)
{
	uid_t r, e, s;
	gid_t rg, eg, sg;

	getresuid(&r, &e, &s);
	getresgid(&rg, &eg, &sg);
	say("%s: users %d %d %d groups %d %d %d", what, r, e, s, rg, eg, sg);
}

// verified makes the test compare the front end's view with this process.
static void verified(const char *what)
{
	show(what);
	claim();
	quiet();
}

static void t_calls(void)
{
	check_outcome("setresgid", setresgid(ALICE, BOB, 0), getuid() ? "EPERM" : "0");
	verified("setresgid");
	say("setregid %s", outcome(setregid(-1, ALICE)));
	verified("setregid");
	say("setgid %s", outcome(setgid(ALICE)));
	verified("setgid");
	check_outcome("setresuid", setresuid(ALICE, BOB, 0), getuid() ? "EPERM" : "0");
	verified("setresuid");
	say("seteuid %s", outcome(seteuid(0)));
	verified("seteuid");
	say("setreuid %s", outcome(setreuid(BOB, ALICE)));
	verified("setreuid");
	say("setuid %s", outcome(setuid(BOB)));
	verified("setuid");
	say("setuid back %s", outcome(setuid(0)));
	verified("setuid back");
}

static void t_drop(void)
{
	gid_t groups[] = {ALICE, BOB};

	say("setgroups %s", outcome(setgroups(2, groups)));
	say("setgid %s", outcome(setgid(ALICE)));
	say("setfsuid %d", setfsuid(BOB));
	say("setfsuid %d", setfsuid(-1));
	say("setuid %s", outcome(setuid(ALICE)));
	verified("alice");
	check_outcome("setuid back", setuid(0), "EPERM");
	check_outcome("setresuid", setresuid(BOB, -1, -1), "EPERM");
	check_outcome("setgid", setgid(0), "EPERM");
	check_outcome("setgroups", setgroups(1, groups), "EPERM");
	verified("still alice");
	// Children inherit it.
	struct gate claimed = make_gate(), end = make_gate();
	pid_t pid = must("fork", fork());
	if (pid == 0) {
		show("child");
		claim();
		let_pass(&claimed);
		wait_at(&end);
		_exit(0);
	}
	wait_at(&claimed);
	quiet();
	let_pass(&end);
	reap(pid);
}

static void *change_in_thread(void *arg)
{
	say("setresuid %s", outcome(setresuid(ALICE, ALICE, ALICE)));
	return NULL;
}

static void t_threads(void)
{
	pthread_t id;

	pthread_create(&id, NULL, change_in_thread, NULL);
	pthread_join(id, NULL);
	verified("after a thread's call");
}

// set_id executes a copy of this program that is set-uid or set-gid.
static void set_id(const char *name)
{
	char path[4096];
	pid_t pid;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	pid = must("fork", fork());
	if (pid == 0) {
		show("before");
		execl(path, name, "--show", NULL);
		die(path);
	}
	reap(pid);
}

static void t_set_uid(void)
{
	set_id("suid-root");
	set_id("suid-bob");
	set_id("sgid-bob");
}

// child of a user, who may be root.
static pid_t child_of(uid_t user, struct gate *ready)
{
	pid_t pid = must("fork", fork());

	if (pid == 0) {
		if (setresuid(user, user, user) < 0)
			say("cannot become %d: %s", user, outcome(-1));
		let_pass(ready);
		for (;;)
			pause();
	}
	wait_at(ready);
	return pid;
}

// Permission to signal follows the change.
static void t_permission(void)
{
	struct gate ready = make_gate();
	pid_t root = child_of(0, &ready), alice = child_of(ALICE, &ready), bob = child_of(BOB, &ready);
	pid_t pid = must("fork", fork());

	if (pid == 0) {
		say("become alice %s", outcome(setresuid(ALICE, ALICE, ALICE)));
		say("root's: %s", outcome(kill(root, 0)));
		say("alice's: %s", outcome(kill(alice, 0)));
		say("bob's: %s", outcome(kill(bob, 0)));
		say("the program: %s", outcome(kill(getppid(), 0)));
		say("init: %s", outcome(kill(1, 0)));
		say("the leader: %s", outcome(kill(getsid(0), 0)));
		_exit(0);
	}
	reap(pid);
	claim_child(root, 'S');
	claim_child(alice, 'S');
	claim_child(bob, 'S');
	quiet();
	kill(root, SIGKILL);
	reap(root);
	kill(alice, SIGKILL);
	reap(alice);
	kill(bob, SIGKILL);
	reap(bob);
}

static const struct test tests[] = {
	{"calls", t_calls}, {"drop", t_drop}, {"threads", t_threads}, {"set-uid programs", t_set_uid},
	{"permission", t_permission}, {NULL, NULL},
};

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "--show") == 0) {
		verified(argv[0]);
		say("setuid back %s", outcome(setresuid(getuid(), getuid(), getuid())));
		verified("back");
		return 0;
	}
	directory = argv[1];
	return run_tests(tests, 1, argv);
}
