// "calls WHAT COUNT" does WHAT COUNT times and prints the time of one, in nanoseconds. "calls
// children COUNT" makes COUNT children, prints a line, and ends them when a line of input comes.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int zero;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "calls: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void reap(pid_t pid)
{
	int status;

	check(pid > 0, "fork");
	check(waitpid(pid, &status, 0) == pid && status == 0, "waitpid");
}

static void do_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	reap(pid);
}

static void do_vfork_exec(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	reap(pid);
}

static void *nothing(void *arg)
{
	return arg;
}

static void do_pthread(void)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, nothing, NULL);
	check(errno == 0, "pthread_create");
	errno = pthread_join(thread, NULL);
	check(errno == 0, "pthread_join");
}

static void do_getppid(void)
{
	check(syscall(SYS_getppid) >= 0, "getppid");
}

static void do_kill(void)
{
	check(kill(getpid(), 0) == 0, "kill");
}

static void do_read(void)
{
	char c;

	check(read(zero, &c, 1) == 1, "read");
}

static const struct {
	const char *name;
	void (*call)(void);
} calls[] = {
	{"fork", do_fork},       {"vfork.exec", do_vfork_exec}, {"pthread", do_pthread},
	{"getppid", do_getppid}, {"kill", do_kill},             {"read", do_read},
};

static void children(int count)
{
	pid_t *pids = calloc(count, sizeof *pids);
	char line[16];

	for (int i = 0; i < count; i++) {
		pids[i] = fork();
		check(pids[i] >= 0, "fork");
		if (pids[i] == 0)
			for (;;)
				pause();
	}
	printf("%d\n", pids[count - 1]);
	fflush(stdout);
	check(fgets(line, sizeof line, stdin) != NULL, "read a line");
	for (int i = 0; i < count; i++)
		check(kill(pids[i], SIGKILL) == 0 && waitpid(pids[i], NULL, 0) == pids[i], "end a child");
}

int main(int argc, char **argv)
{
	int count = argc == 3 ? atoi(argv[2]) : 0;
	struct timespec from, to;

	if (count > 0 && !strcmp(argv[1], "children")) {
		children(count);
		return 0;
	}
	zero = open("/dev/zero", O_RDONLY);
	for (size_t i = 0; count > 0 && i < sizeof calls / sizeof *calls; i++) {
		if (strcmp(argv[1], calls[i].name))
			continue;
		for (int n = 0; n < count / 10 + 1; n++)
			calls[i].call();
		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int n = 0; n < count; n++)
			calls[i].call();
		clock_gettime(CLOCK_MONOTONIC, &to);
		printf("%.1f\n", ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / count);
		return 0;
	}
	fprintf(stderr, "usage: calls WHAT COUNT\n");
	return 2;
}
