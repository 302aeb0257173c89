// "alternate COUNT CMD ARG... -- CMD ARG..." runs the first command and then the second, COUNT
// times, and prints the median time of the first one in microseconds. Both must succeed; their
// output is dropped.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static double run(char **argv, posix_spawn_file_actions_t *actions)
{
	double begin = now();
	pid_t pid;
	int status;
	int error = posix_spawnp(&pid, argv[0], actions, NULL, argv, environ);

	if (error == 0 && waitpid(pid, &status, 0) < 0)
		error = errno;
	if (error != 0 || status != 0) {
		fprintf(stderr, "alternate: %s: %s\n", argv[0], error != 0 ? strerror(error) : "it failed");
		exit(1);
	}
	return now() - begin;
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0, second = 2;

	while (second < argc && strcmp(argv[second], "--") != 0)
		second++;
	if (count < 1 || second == 2 || second + 1 >= argc) {
		fprintf(stderr, "alternate COUNT CMD ARG... -- CMD ARG...\n");
		return 2;
	}
	argv[second] = NULL;
	double times[count];
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd <= 1; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	for (int i = 0; i < count; i++) {
		times[i] = run(argv + 2, &actions);
		run(argv + second + 1, &actions);
	}
	qsort(times, count, sizeof *times, rising);
	printf("%.1f\n", times[count / 2]);
	return 0;
}
