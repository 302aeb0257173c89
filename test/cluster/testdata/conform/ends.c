// How processes with threads, vfork children and children of dying parents end.
#include "conform.h"

#include <pthread.h>
#include <sys/mman.h>

static char self[4096]; // the path of this program

static void *sleep_for_ever(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

static void *exit_group_thread(void *arg)
{
	_exit(21);
}

static void *raw_exit_thread(void *arg)
{
	syscall(SYS_exit, 22);
	return NULL;
}

static void *abort_thread(void *arg)
{
	kill(getpid(), SIGKILL);
	return NULL;
}

static void *exec_thread(void *arg)
{
	execl(self, "exec'd by a thread", "--exec", NULL);
	_exit(127);
}

// in_child runs a thread beside sleeping ones in a child.
static void in_child(const char *what, void *(*run)(void *), int leader_ends)
{
	pid_t pid = must("fork", fork());

	if (pid == 0) {
		pthread_t id;

		for (int i = 0; i < 3; i++)
			pthread_create(&id, NULL, sleep_for_ever, NULL);
		pthread_create(&id, NULL, run, NULL);
		if (leader_ends)
			syscall(SYS_exit, 23);
		pthread_join(id, NULL);
		_exit(24);
	}
	say("%s " PID, what, pid);
	reap(pid);
}

static void t_exit_group(void)
{
	in_child("exit_group of a thread", exit_group_thread, 0);
	in_child("exit_group after the leader", exit_group_thread, 1);
	in_child("exit of a thread", raw_exit_thread, 0);
	in_child("SIGKILL of a thread", abort_thread, 1);
}

static void t_exec(void)
{
	in_child("exec of a thread", exec_thread, 0);
	in_child("exec after the leader", exec_thread, 1);
}

// A process whose first thread has ended lives on.
static void *live_on(void *arg)
{
	struct gate *g = arg;

	while (state_of(getpid()) != 'Z')
		sched_yield();
	say("leader of " PID " has ended, parent " PID, getpid(), getppid());
	let_pass(&g[0]);
	wait_at(&g[1]);
	pid_t pid = must("fork", fork());
	if (pid == 0) {
		say("child of one without leader, parent " PID, getppid());
		claim();
		let_pass(&g[0]);
		wait_at(&g[1]);
		_exit(25);
	}
	reap(pid);
	_exit(26);
}

static void t_leader(void)
{
	struct gate g[2] = {make_gate(), make_gate()};
	int status;
	pid_t pid = must("fork", fork());

	if (pid == 0) {
		pthread_t id;

		pthread_create(&id, NULL, live_on, g);
		syscall(SYS_exit, 0);
	}
	wait_at(&g[0]);
	check_outcome("not waited for yet", waitpid(pid, &status, WNOHANG), "0");
	check_outcome("kill 0", kill(pid, 0), "0");
	let_pass(&g[1]);
	wait_at(&g[0]);
	quiet();
	let_pass(&g[1]);
	reap(pid);
}

static void t_vfork(void)
{
	static volatile int shared;
	pid_t pid = vfork();

	if (pid == 0) {
		shared = getpid();
		_exit(27);
	}
	check_pid("vfork and exit", pid, shared);
	reap(pid);
	pid = vfork();
	if (pid == 0) {
		execl(self, "vforked", "--exec", NULL);
		_exit(127);
	}
	reap(pid);
	pid = vfork();
	if (pid == 0) {
		execl("/no/such/file", "nothing", NULL);
		_exit(errno == ENOENT ? 28 : 29);
	}
	reap(pid);
	pid = vfork();
	if (pid == 0) {
		kill(getpid(), SIGKILL);
		_exit(30);
	}
	reap(pid);
	pid = vfork();
	if (pid == 0) {
		setsid();
		shared = getsid(0);
		_exit(31);
	}
	check_pid("vfork and setsid", shared, pid);
	reap(pid);
}

// A vfork child of a vfork child, whose parents wait for its end.
static void t_vfork_nested(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		pid_t inner = vfork();

		if (inner == 0)
			_exit(32);
		if (waitpid(inner, NULL, 0) != inner)
			_exit(1);
		execl(self, "nested", "--exec", NULL);
		_exit(127);
	}
	reap(pid);
}

// inherits_nothing checks that a child lacks what its parent has set.
static void inherits_nothing(void)
{
	int sig = -1;
	pid_t pid = must("fork", fork());

	if (pid == 0) {
		prctl(PR_GET_PDEATHSIG, &sig);
		check_int("inherited", sig, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	prctl(PR_GET_PDEATHSIG, &sig);
	say("asked for %d", sig);
}

// The end of a parent signals its child, if the child has asked for that.
static void dying_parent(const char *what, int sig, int clear)
{
	struct gate ready = make_gate(), end = make_gate();
	struct timespec now = {0};
	sigset_t set;
	pid_t mid = must("fork", fork());

	if (mid) {
		reap(mid);
		let_pass(&end);
		wait_at(&ready);
		return;
	}
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (must("fork", fork())) {
		wait_at(&ready);
		_exit(33);
	}
	prctl(PR_SET_PDEATHSIG, sig);
	inherits_nothing();
	if (clear)
		prctl(PR_SET_PDEATHSIG, 0);
	let_pass(&ready);
	wait_at(&end);
	say("%s: %s, parent now " PID, what, outcome(sigtimedwait(&set, NULL, &now)), getppid());
	let_pass(&ready);
	_exit(0);
}

static void t_pdeathsig(void)
{
	dying_parent("SIGUSR1", SIGUSR1, 0);
	dying_parent("SIGTERM", SIGTERM, 0);
	dying_parent("none", SIGUSR2, 1);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	dying_parent("adopted here", SIGHUP, 0);
	reap(-1);
	check_outcome("bad signal", prctl(PR_SET_PDEATHSIG, 65), "EINVAL");
}

// The end of a whole tree at once, by its group.
static void t_group_killed(void)
{
	struct gate ready = make_gate();
	pid_t pid = must("fork", fork());

	if (pid == 0) {
		setpgid(0, 0);
		for (int i = 0; i < 10; i++)
			if (must("fork", fork()) == 0) {
				must("fork", fork());
				claim();
				let_pass(&ready);
				pause();
			}
		for (;;)
			pause();
	}
	for (int i = 0; i < 20; i++)
		wait_at(&ready);
	quiet();
	check_outcome("kill", kill(-pid, SIGKILL), "0");
	reap(pid);
	while (kill(-pid, 0) == 0)
		sched_yield();
	check_outcome("the group is gone", kill(-pid, 0), "ESRCH");
}

static const struct test tests[] = {
	{"exit_group", t_exit_group}, {"exec", t_exec}, {"leader", t_leader}, {"vfork", t_vfork},
	{"nested vfork", t_vfork_nested}, {"PR_SET_PDEATHSIG", t_pdeathsig}, {"group killed", t_group_killed},
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	must("readlink", readlink("/proc/self/exe", self, sizeof self - 1));
	if (argc > 1 && strcmp(argv[1], "--exec") == 0) {
		say("%s: " PID " is " PID ", parent " PID, argv[0], getpid(), gettid(), getppid());
		return 34;
	}
	return run_tests(tests, argc, argv);
}
