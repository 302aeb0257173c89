// The processes of the random trees. Each waits for commands in shared memory, carries them out and
// reports the results.
#include "conform.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

extern char **environ;

enum { SLOTS = 24, SHARED_FD = 100 };

enum command {
	ASK, FORK, EXEC, EXIT, SETPGID, SETSID, KILL, WAIT4, WAITID, SUBREAPER, IGNORE_CHILDREN, DEATHSIG, SETUID,
};

// The ways in which a process makes another one.
enum birth { BY_FORK, BY_VFORK_EXEC, BY_CLONE3, BY_SPAWN, BY_THREAD, BY_CLONE_PARENT, BIRTHS };

// slot is the entry of one process in the shared memory.
struct slot {
	atomic_uint asked, done; // numbers of commands
	int command;
	int arg[3];
	int result, error;
	int status;
	pid_t pid, ppid, pgid, sid; // as it sees itself
	atomic_int usr1;            // how often it has caught SIGUSR1
};

struct shared {
	struct slot slot[SLOTS];
	char directory[512]; // has this program under the names of NAMES
};

static const char *const NAMES[] = {"trees", "tree-a", "tree-b", "tree-c"};

static struct shared *shared;
static int me; // this process's slot

static void map_shared(void)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	if (shared == MAP_FAILED)
		die("mmap");
}

static void futex_wake(atomic_uint *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

// futex_wait waits while a word has a value, up to a time in milliseconds (-1: for ever). It may
// return early.
static void futex_wait(atomic_uint *word, unsigned value, int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	syscall(SYS_futex, word, FUTEX_WAIT, value, ms < 0 ? NULL : &t, NULL, 0);
}

static void on_usr1(int sig)
{
	atomic_fetch_add(&shared->slot[me].usr1, 1);
}

__attribute__((noreturn)) static void work(int slot);

static void exec_name(int name, int slot)
{
	char path[600], number[8];

	snprintf(path, sizeof path, "%s/%s", shared->directory, NAMES[name]);
	snprintf(number, sizeof number, "%d", slot);
	execl(path, NAMES[name], "--worker", number, NULL);
	_exit(97);
}

struct in_thread {
	pid_t (*run)(int arg);
	int arg;
	pid_t result;
	int error;
	pid_t tid;
};

static void *thread(void *arg)
{
	struct in_thread *t = arg;

	t->tid = gettid();
	t->result = t->run(t->arg);
	t->error = errno;
	return NULL;
}

// by_thread runs a function in a thread of its own. It returns when the thread has ended: the
// effect of that on its children comes after pthread_join.
static pid_t by_thread(pid_t (*run)(int), int arg)
{
	struct in_thread t = {run, arg, -1, 0, 0};
	char path[64];
	pthread_t id;

	if (pthread_create(&id, NULL, thread, &t))
		return -1;
	pthread_join(id, NULL);
	snprintf(path, sizeof path, "/proc/self/task/%d", t.tid);
	while (access(path, F_OK) == 0)
		sched_yield();
	errno = t.error;
	return t.result;
}

static pid_t plain_fork(int slot)
{
	pid_t pid = fork();

	if (pid == 0)
		work(slot);
	return pid;
}

static pid_t clone_with(unsigned long flags, int slot)
{
	struct clone_args a = {.flags = flags, .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD};
	pid_t pid = syscall(SYS_clone3, &a, sizeof a);

	if (pid == 0)
		work(slot);
	return pid;
}

static pid_t spawn(int slot)
{
	char path[600], number[8], *argv[] = {(char *)NAMES[1], "--worker", number, NULL};
	pid_t pid;

	snprintf(path, sizeof path, "%s/%s", shared->directory, NAMES[1]);
	snprintf(number, sizeof number, "%d", slot);
	errno = posix_spawn(&pid, path, NULL, NULL, argv, environ);
	return errno ? -1 : pid;
}

static pid_t vfork_exec(int slot)
{
	pid_t pid = vfork();

	if (pid == 0)
		exec_name(1, slot);
	return pid;
}

static pid_t give_birth(enum birth how, int slot)
{
	switch (how) {
	case BY_VFORK_EXEC:
		return vfork_exec(slot);
	case BY_CLONE3:
		return clone_with(0, slot);
	case BY_SPAWN:
		return spawn(slot);
	case BY_THREAD:
		return by_thread(plain_fork, slot);
	case BY_CLONE_PARENT:
		return clone_with(CLONE_PARENT, slot);
	default:
		return plain_fork(slot);
	}
}

static pid_t exec_in_thread(int name)
{
	exec_name(name, me);
	return -1;
}

static pid_t exit_in_thread(int code)
{
	_exit(code);
}

// waits does waitid for slot s: 0 if there is no child to wait for, else the child's number.
static int waits(struct slot *s)
{
	siginfo_t info = {0};
	int options = WEXITED | WNOHANG | s->arg[1];

	if (waitid(s->arg[0] == -1 ? P_ALL : s->arg[0] < 0 ? P_PGID : P_PID, abs(s->arg[0]), &info, options) < 0)
		return -1;
	switch (info.si_code) {
	case CLD_EXITED:
		s->status = info.si_status << 8;
		break;
	case CLD_STOPPED:
		s->status = info.si_status << 8 | 0x7f;
		break;
	case CLD_CONTINUED:
		s->status = 0xffff;
		break;
	default:
		s->status = info.si_status;
	}
	return info.si_pid;
}

static int carry_out(struct slot *s)
{
	switch (s->command) {
	case FORK:
		return give_birth(s->arg[0], s->arg[1]);
	case EXEC:
		if (s->arg[1])
			return by_thread(exec_in_thread, s->arg[0]);
		exec_name(s->arg[0], me);
		return -1;
	case EXIT:
		if (s->arg[1])
			return by_thread(exit_in_thread, s->arg[0]);
		_exit(s->arg[0]);
	case SETPGID:
		return setpgid(s->arg[0], s->arg[1]);
	case SETSID:
		return setsid();
	case KILL:
		return kill(s->arg[0], s->arg[1]);
	case WAIT4:
		return wait4(s->arg[0], &s->status, s->arg[1], NULL);
	case WAITID:
		return waits(s);
	case SUBREAPER:
		return prctl(PR_SET_CHILD_SUBREAPER, s->arg[0]);
	case IGNORE_CHILDREN:
		return signal(SIGCHLD, s->arg[0] ? SIG_IGN : SIG_DFL) == SIG_ERR ? -1 : 0;
	case DEATHSIG:
		return prctl(PR_SET_PDEATHSIG, s->arg[0]);
	case SETUID:
		return setresuid(s->arg[0], s->arg[0], s->arg[0]);
	default:
		return 0;
	}
}

// perform carries out a command and reports its own state after that.
static void perform(struct slot *s)
{
	errno = 0;
	int result = carry_out(s);
	s->result = result;
	s->error = result < 0 ? errno : 0;
	s->pid = getpid();
	s->ppid = getppid();
	s->pgid = getpgrp();
	s->sid = getsid(0);
}

// work is the life of a process of the tree. Its first answer reports that it runs, also after
// exec.
__attribute__((noreturn)) static void work(int slot)
{
	struct slot *s = &shared->slot[slot];
	struct sigaction a = {.sa_handler = on_usr1, .sa_flags = SA_RESTART};

	me = slot;
	sigaction(SIGUSR1, &a, NULL);
	signal(SIGHUP, SIG_DFL);
	close_range(3, SHARED_FD - 1, 0);
	for (unsigned last = atomic_load(&s->asked); ; last++) {
		s->pid = getpid();
		atomic_store(&s->done, last);
		futex_wake(&s->done);
		while (atomic_load(&s->asked) == last)
			futex_wait(&s->asked, last, -1);
		perform(s);
	}
}
