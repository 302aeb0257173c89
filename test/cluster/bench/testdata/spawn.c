// "spawn COUNT INFLIGHT CMD ARG..." runs CMD COUNT times, INFLIGHT at the same time, and prints the
// median time of one in microseconds, and how many have ended per second. A "@" in an argument is
// the number of the run modulo 4, a node.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum { NODES = 4, MAX_INFLIGHT = 1024 };

static struct running {
	pid_t pid;
	double since;
} running[MAX_INFLIGHT];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void fail(const char *what, int error)
{
	fprintf(stderr, "spawn: %s: %s\n", what, strerror(error));
	exit(1);
}

static void start(struct running *r, char **argv, int number, posix_spawn_file_actions_t *actions)
{
	char *args[64], text[64][32];
	int i, error;

	for (i = 0; argv[i] && i < 63; i++) {
		args[i] = argv[i];
		if (!strcmp(argv[i], "@")) {
			snprintf(text[i], sizeof text[i], "%d", number % NODES);
			args[i] = text[i];
		}
	}
	args[i] = NULL;
	r->since = now();
	error = posix_spawnp(&r->pid, args[0], actions, NULL, args, environ);
	if (error)
		fail(args[0], error);
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[1]) : 0, inflight = argc > 3 ? atoi(argv[2]) : 0;
	int started = 0, ended = 0, status;
	double begin, *took;
	posix_spawn_file_actions_t actions;

	if (count < 1 || inflight < 1 || inflight > MAX_INFLIGHT) {
		fprintf(stderr, "usage: spawn COUNT INFLIGHT CMD ARG...\n");
		return 2;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	took = calloc(count, sizeof *took);
	begin = now();
	while (started < count && started < inflight) {
		start(&running[started], argv + 3, started, &actions);
		started++;
	}
	while (ended < count) {
		pid_t pid = wait(&status);
		struct running *r = running;

		if (pid < 0)
			fail("wait", errno);
		if (status) {
			fprintf(stderr, "spawn: %s: status %#x\n", argv[3], status);
			return 1;
		}
		while (r->pid != pid)
			r++;
		took[ended++] = now() - r->since;
		r->pid = 0;
		if (started < count)
			start(r, argv + 3, started++, &actions);
	}
	begin = now() - begin;
	qsort(took, count, sizeof *took, compare);
	printf("%.1f %.2f\n", took[count / 2], count * 1e6 / begin);
	return 0;
}
