// Signals to itself, to relatives and to nonexistent processes, by every call that sends one.
#include "conform.h"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>

#define NOBODY 0x7ffffff0
#define FIRST SIGRTMIN

static sigset_t everything;

// brief omits the sender of a signal: a group's members on other nodes get the signal from the
// front end.
static int brief;

static int tkill(pid_t tid, int sig)
{
	return syscall(SYS_tkill, tid, sig);
}

static int pidfd(pid_t pid, unsigned flags)
{
	return syscall(SYS_pidfd_open, pid, flags);
}

static int pidfd_send(int fd, int sig, siginfo_t *info, unsigned flags)
{
	return syscall(SYS_pidfd_send_signal, fd, sig, info, flags);
}

static int queue_as(pid_t pid, pid_t tid, int sig, int code, int value)
{
	siginfo_t info = {.si_signo = sig, .si_code = code};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = value;
	if (tid)
		return syscall(SYS_rt_tgsigqueueinfo, pid, tid, sig, &info);
	return syscall(SYS_rt_sigqueueinfo, pid, sig, &info);
}

// got prints which signal is pending, or none.
static void got(const char *who)
{
	siginfo_t info = {0};
	struct timespec now = {0};
	int sig = sigtimedwait(&everything, &info, &now);

	if (sig < 0)
		say("%s has no signal", who);
	else if (brief)
		say("%s got %d", who, sig);
	else
		say("%s got %d code %d from " PID " value %d", who, sig, info.si_code, info.si_pid,
		    info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
}

static void t_self(void)
{
	pid_t me = getpid();
	int fd = must("pidfd_open", pidfd(me, 0));

	sigprocmask(SIG_SETMASK, &everything, NULL);
	got("nobody");
	check_outcome("kill 0", kill(me, 0), "0");
	check_outcome("kill", kill(me, SIGUSR1), "0");
	got("kill");
	check_outcome("raise", raise(SIGUSR2), "0");
	got("raise");
	check_outcome("tkill", tkill(gettid(), SIGHUP), "0");
	got("tkill");
	check_outcome("tgkill", tgkill(me, gettid(), SIGTERM), "0");
	got("tgkill");
	check_outcome("rt_sigqueueinfo", queue_as(me, 0, FIRST, SI_QUEUE, 17), "0");
	got("rt_sigqueueinfo");
	check_outcome("rt_sigqueueinfo as the kernel", queue_as(me, 0, FIRST, SI_KERNEL, 18), "0");
	got("rt_sigqueueinfo as the kernel");
	check_outcome("rt_tgsigqueueinfo", queue_as(me, gettid(), FIRST + 1, SI_QUEUE, 19), "0");
	got("rt_tgsigqueueinfo");
	check_outcome("pidfd_send_signal", pidfd_send(fd, FIRST + 2, NULL, 0), "0");
	got("pidfd_send_signal");
	for (int i = 0; i < 5; i++)
		queue_as(me, 0, FIRST, SI_QUEUE, i);
	for (int i = 0; i < 6; i++)
		got("queue");
}

// listener is a child that prints the signals it gets, one for each pass.
static pid_t listener(struct gate *go, struct gate *done)
{
	pid_t pid = must("fork", fork());

	if (pid)
		return pid;
	sigprocmask(SIG_SETMASK, &everything, NULL);
	let_pass(done);
	for (;;) {
		wait_at(go);
		got("child");
		let_pass(done);
	}
}

static void hear(struct gate *go, struct gate *done)
{
	let_pass(go);
	wait_at(done);
}

static void t_child(void)
{
	struct gate go = make_gate(), done = make_gate();
	pid_t child = listener(&go, &done);
	int fd = must("pidfd_open", pidfd(child, 0));
	siginfo_t info = {.si_signo = FIRST, .si_code = SI_QUEUE};

	say("child " PID, child);
	wait_at(&done);
	check_outcome("kill 0", kill(child, 0), "0");
	check_outcome("kill", kill(child, SIGUSR1), "0");
	hear(&go, &done);
	check_outcome("tkill", tkill(child, SIGHUP), "0");
	hear(&go, &done);
	check_outcome("tgkill", tgkill(child, child, SIGTERM), "0");
	hear(&go, &done);
	check_outcome("sigqueue", queue_as(child, 0, FIRST, SI_QUEUE, 21), "0");
	hear(&go, &done);
	check_outcome("rt_tgsigqueueinfo", queue_as(child, child, FIRST + 1, SI_QUEUE, 22), "0");
	hear(&go, &done);
	check_outcome("pidfd_send_signal", pidfd_send(fd, FIRST + 2, NULL, 0), "0");
	hear(&go, &done);
	info.si_value.sival_int = 23;
	check_outcome("pidfd_send_signal with info", pidfd_send(fd, FIRST, &info, 0), "0");
	hear(&go, &done);
	check_outcome("sigqueue as kill", queue_as(child, 0, FIRST, SI_USER, 24), "EPERM");
	check_outcome("sigqueue as tkill", queue_as(child, 0, FIRST, SI_TKILL, 25), "EPERM");
	check_outcome("sigqueue as the kernel", queue_as(child, child, FIRST, SI_KERNEL, 26), "EPERM");
	check_outcome("tgkill with another's number", tgkill(getpid(), child, 1), "ESRCH");
	check_outcome("rt_tgsigqueueinfo with another's number", queue_as(getpid(), child, 1, SI_QUEUE, 0), "ESRCH");
	hear(&go, &done);
	check_outcome("SIGKILL", kill(child, SIGKILL), "0");
	struct pollfd p = {.fd = fd, .events = POLLIN};
	check_int("poll of its descriptor", poll(&p, 1, -1), 1);
	check_outcome("kill of a zombie", kill(child, SIGTERM), "0");
	check_outcome("tkill of a zombie", tkill(child, 0), "0");
	check_outcome("pidfd_send_signal to a zombie", pidfd_send(fd, 0, NULL, 0), "0");
	say("group of the zombie " PID, getpgid(child));
	reap(child);
	check_outcome("kill afterwards", kill(child, 0), "ESRCH");
	check_outcome("tgkill afterwards", tgkill(child, child, 0), "ESRCH");
	check_outcome("pidfd_send_signal afterwards", pidfd_send(fd, 0, NULL, 0), "ESRCH");
	check_outcome("pidfd_open afterwards", pidfd(child, 0), "ESRCH");
}

static void t_errors(void)
{
	static const int bad[] = {65, -1, 1000, 0x7fffffff};
	pid_t me = getpid();
	int fd = pidfd(me, 0);

	for (int i = 0; i < 4; i++) {
		say("signal %d", bad[i]);
		check_outcome("kill", kill(me, bad[i]), "EINVAL");
		check_outcome("kill nobody", kill(NOBODY, bad[i]), "ESRCH");
		check_outcome("kill parent", kill(getppid(), bad[i]), "EINVAL");
		check_outcome("kill leader", kill(getsid(0), bad[i]), "EINVAL");
		check_outcome("kill all", kill(-1, bad[i]), "EINVAL");
		check_outcome("kill group", kill(0, bad[i]), "EINVAL");
		check_outcome("tkill", tkill(me, bad[i]), "EINVAL");
		check_outcome("tgkill", tgkill(me, me, bad[i]), "EINVAL");
		say("rt_sigqueueinfo %s", outcome(queue_as(me, 0, bad[i], SI_QUEUE, 0)));
		say("rt_tgsigqueueinfo %s", outcome(queue_as(me, me, bad[i], SI_QUEUE, 0)));
		say("pidfd_send_signal %s", outcome(pidfd_send(fd, bad[i], NULL, 0)));
	}
	check_outcome("kill nobody", kill(NOBODY, SIGTERM), "ESRCH");
	check_outcome("kill nobody's group", kill(-NOBODY, SIGTERM), "ESRCH");
	check_outcome("kill the least", kill(0x80000000, SIGTERM), "ESRCH");
	check_outcome("kill my group that is none", kill(-me, 0), "ESRCH");
	check_outcome("tkill nobody", tkill(NOBODY, SIGTERM), "ESRCH");
	check_outcome("tkill 0", tkill(0, SIGTERM), "EINVAL");
	check_outcome("tkill -1", tkill(-1, SIGTERM), "EINVAL");
	check_outcome("tgkill 0", tgkill(0, me, SIGTERM), "EINVAL");
	check_outcome("tgkill -1", tgkill(me, -1, SIGTERM), "EINVAL");
	check_outcome("tgkill nobody", tgkill(NOBODY, NOBODY, SIGTERM), "ESRCH");
	check_outcome("queue to nobody", queue_as(NOBODY, 0, SIGTERM, SI_QUEUE, 0), "ESRCH");
	check_outcome("queue to 0", queue_as(0, 0, SIGTERM, SI_QUEUE, 0), "ESRCH");
	check_outcome("queue to -1", queue_as(-1, 0, SIGTERM, SI_QUEUE, 0), "ESRCH");
	check_outcome("queue from nowhere", syscall(SYS_rt_sigqueueinfo, me, SIGTERM, 8), "EFAULT");
	check_outcome("pidfd_open 0", pidfd(0, 0), "EINVAL");
	check_outcome("pidfd_open -1", pidfd(-1, 0), "EINVAL");
	check_outcome("pidfd_open nobody", pidfd(NOBODY, 0), "ESRCH");
	check_outcome("pidfd_open with flags", pidfd(me, 0x40000000), "EINVAL");
	check_outcome("pidfd_send_signal with flags", pidfd_send(fd, 0, NULL, 0x40000000), "EINVAL");
	check_outcome("pidfd_send_signal to a pipe", pidfd_send(0, 0, NULL, 0), "EBADF");
	check_outcome("pidfd_send_signal to nothing", pidfd_send(-1, 0, NULL, 0), "EBADF");
}

static void t_init(void)
{
	say("kill init 0: %s", outcome(kill(1, 0)));
	say("kill init's group 0: %s", outcome(kill(-getpgid(1), 0)));
	say("tkill init 0: %s", outcome(tkill(1, 0)));
	say("tgkill init 0: %s", outcome(tgkill(1, 1, 0)));
	say("sigqueue init 0: %s", outcome(queue_as(1, 0, 0, SI_QUEUE, 0)));
}

static volatile sig_atomic_t caught;

static void catch(int sig)
{
	caught++;
}

// Signals that a call sends to its caller have arrived when it returns.
static void t_group(void)
{
	struct gate go = make_gate(), done = make_gate();
	pid_t child;

	brief = 1;
	signal(SIGURG, catch);
	signal(SIGCONT, catch);
	child = listener(&go, &done);
	say("child " PID, child);
	wait_at(&done);
	check_outcome("kill(0)", kill(0, SIGURG), "0");
	check_int("caught", caught, 1);
	hear(&go, &done);
	check_outcome("kill(-group)", kill(-getpgrp(), SIGURG), "0");
	check_int("caught", caught, 2);
	hear(&go, &done);
	check_outcome("kill(-1)", kill(-1, SIGURG), "0");
	check_int("caught", caught, 2);
	hear(&go, &done);
	check_outcome("kill(-1, 0)", kill(-1, 0), "0");
	check_outcome("setpgid", setpgid(child, 0), "0");
	check_outcome("kill(0)", kill(0, SIGCONT), "0");
	check_int("caught", caught, 3);
	hear(&go, &done);
	check_outcome("kill(-child's)", kill(-child, SIGURG), "0");
	check_int("caught", caught, 3);
	hear(&go, &done);
	check_outcome("setpgid", setpgid(0, child), "0");
	check_outcome("kill(0, 0)", kill(0, 0), "0");
	check_outcome("kill(0)", kill(0, SIGURG), "0");
	check_int("caught", caught, 4);
	hear(&go, &done);
	kill(child, SIGKILL);
	reap(child);
	check_outcome("kill(-mine)", kill(-child, SIGURG), "0");
	check_int("caught", caught, 5);
}

static void t_session(void)
{
	struct gate go = make_gate(), done = make_gate();
	pid_t child = 0, pid = must("fork", fork());

	signal(SIGURG, catch);
	if (pid) {
		reap(pid);
		return;
	}
	setsid();
	child = listener(&go, &done);
	wait_at(&done);
	check_outcome("kill(0)", kill(0, SIGURG), "0");
	check_int("caught", caught, 1);
	hear(&go, &done);
	check_outcome("the leader's group", kill(-getpid(), SIGURG), "0");
	check_int("caught", caught, 2);
	hear(&go, &done);
	kill(child, SIGKILL);
	reap(child);
}

static void *wait_for_signal(void *arg)
{
	struct gate *g = arg;

	*(pid_t *)(g + 2) = gettid();
	let_pass(&g[0]);
	wait_at(&g[1]);
	got("thread");
	return NULL;
}

static void t_thread(void)
{
	struct {
		struct gate g[2];
		pid_t tid;
	} a = {{make_gate(), make_gate()}, 0};
	pthread_t id;

	sigprocmask(SIG_SETMASK, &everything, NULL);
	pthread_create(&id, NULL, wait_for_signal, &a);
	wait_at(&a.g[0]);
	say("process " PID " thread " PID, getpid(), a.tid);
	check_outcome("kill by a thread's number", kill(a.tid, 0), "0");
	check_outcome("tgkill", tgkill(getpid(), a.tid, SIGUSR1), "0");
	check_outcome("tgkill with two thread numbers", tgkill(a.tid, a.tid, SIGUSR1), "ESRCH");
	say("pidfd_open of a thread %s", outcome(pidfd(a.tid, 0)));
	got("process");
	let_pass(&a.g[1]);
	pthread_join(id, NULL);
	while (tkill(a.tid, 0) == 0) // the join returns before the kernel has released its number
		sched_yield();
	check_outcome("tkill afterwards", tkill(a.tid, 0), "ESRCH");
	check_outcome("tgkill afterwards", tgkill(getpid(), a.tid, 0), "ESRCH");
}

static const struct test tests[] = {
	{"self", t_self}, {"child", t_child}, {"errors", t_errors}, {"init", t_init},
	{"group", t_group}, {"session", t_session}, {"thread", t_thread}, {NULL, NULL},
};

int main(int argc, char **argv)
{
	sigfillset(&everything);
	sigdelset(&everything, SIGALRM);
	return run_tests(tests, argc, argv);
}
