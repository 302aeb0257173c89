// "neighbour COUNT" is a service and its client: the client makes COUNT requests, with 2 ms
// between, and waits for an answer, which takes some work. It prints the median time of an answer
// and the 99th percentile, in microseconds.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "neighbour: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void serve(int from, int to)
{
	static volatile char page[256 << 10];
	char c;

	while (read(from, &c, 1) == 1) {
		for (size_t i = 0; i < sizeof page; i++)
			page[i] += c;
		check(write(to, &c, 1) == 1, "answer");
	}
	_exit(0);
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0, ask[2], answer[2];

	if (count < 1)
		return 2;
	check(pipe(ask) == 0 && pipe(answer) == 0, "pipe");
	pid_t child = fork();
	check(child >= 0, "fork");
	if (child == 0) {
		close(ask[1]);
		serve(ask[0], answer[1]);
	}
	double times[count];
	for (int i = 0; i < count; i++) {
		char c = 1;

		usleep(2000);
		times[i] = now();
		check(write(ask[1], &c, 1) == 1 && read(answer[0], &c, 1) == 1, "ask");
		times[i] = now() - times[i];
	}
	qsort(times, count, sizeof *times, rising);
	printf("%.1f %.1f\n", times[count / 2], times[count * 99 / 100]);
	return 0;
}
