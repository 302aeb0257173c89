// Makes processes and threads as fast as it can, and checks every number: a child must have the
// number that its parent got, and no other process in the cluster may have it.
//
//	soak OWNERS SECONDS
//
// OWNERS is a file with a byte for each number, which all machines of the test share.
#include "conform.h"

#include <linux/sched.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

enum { NUMBERS = 1 << 22, KEPT = 16 };

static atomic_uchar *owners;
static volatile pid_t *told; // the number that a child has reported

static void own(pid_t pid)
{
	if (pid <= 0 || pid >= NUMBERS || atomic_exchange(&owners[pid], 1))
		say("number %d WRONG, it has an owner", pid);
}

static void disown(pid_t pid)
{
	if (!atomic_exchange(&owners[pid], 0))
		say("number %d WRONG, its owner was lost", pid);
}

// A child that ends at once.
static void child(void)
{
	pid_t pid = getpid();

	own(pid);
	*told = pid;
	disown(pid);
	_exit(0);
}

static void make(int kind)
{
	struct clone_args a = {.exit_signal = SIGCHLD};
	pid_t pid;

	*told = 0;
	if (kind == 0)
		pid = vfork();
	else if (kind == 1)
		pid = syscall(SYS_clone3, &a, sizeof a);
	else
		pid = fork();
	if (pid == 0)
		child();
	if (pid < 0)
		die("fork");
	if (waitpid(pid, NULL, 0) != pid || *told != pid)
		say("WRONG: the parent got %d, the child is %d", pid, *told);
}

static void *thread(void *arg)
{
	pid_t tid = gettid();

	own(tid);
	*(pid_t *)arg = tid;
	disown(tid);
	return NULL;
}

static void make_thread(void)
{
	pid_t tid = 0;
	pthread_t id;

	if (pthread_create(&id, NULL, thread, &tid))
		die("pthread_create");
	pthread_join(id, NULL);
	if (tid == 0 || tid == getpid())
		say("WRONG: a thread is %d", tid);
}

static struct {
	pid_t pid;
	int fd;
} kept[KEPT];

static void let_go(int i)
{
	if (!kept[i].pid)
		return;
	close(kept[i].fd);
	waitpid(kept[i].pid, NULL, 0);
}

// keep replaces one of KEPT children by a new one, so that numbers are in use while others are
// given.
static void keep(int i)
{
	int fd[2];
	char c;

	i %= KEPT;
	let_go(i);
	must("pipe", pipe2(fd, O_CLOEXEC));
	kept[i].pid = must("fork", fork());
	if (kept[i].pid == 0) {
		pid_t pid = getpid();

		own(pid);
		for (int k = 0; k < KEPT; k++)
			if (kept[k].fd && kept[k].fd != fd[0])
				close(kept[k].fd);
		close(fd[1]);
		while (read(fd[0], &c, 1) > 0)
			;
		disown(pid);
		_exit(0);
	}
	close(fd[0]);
	kept[i].fd = fd[1];
}

int main(int argc, char **argv)
{
	struct timespec now, begin;
	long forks = 0, threads = 0;
	int fd, seconds;

	if (argc != 3)
		return 2;
	seconds = atoi(argv[2]);
	fd = must("open", open(argv[1], O_RDWR | O_CLOEXEC));
	owners = mmap(NULL, NUMBERS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (owners == MAP_FAILED || told == MAP_FAILED)
		die("mmap");
	own(getpid());
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < 30; i++, forks++, threads++) {
			make(i % 3);
			make_thread();
		}
		keep(forks++ / 30);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < seconds);
	for (int i = 0; i < KEPT; i++)
		let_go(i);
	say("forks %ld threads %ld", forks, threads);
	disown(getpid());
	return 0;
}
