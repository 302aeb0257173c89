// A job for tests with faults: it prints numbered lines on both outputs, has children that do the
// same, reads a pattern, gets signals with numbers, and ends with a known status.
//
//	chaos RECORDS ID SEED MILLISECONDS INPUT SIGNALS PATIENCE
//
// RECORDS is a file that all machines share. Each process appends a record to it when it begins and
// when it ends. INPUT bytes come on standard input, and SIGNALS times SIGRTMIN, with the values 0,
// 1, ... When not all have come PATIENCE milliseconds after everything else, it ends with LOST. The
// output has these lines:
//
//	out ID PROCESS NUMBER ...       PROCESS: 0 is the first, its children are 1, 2, ...
//	err ID PROCESS NUMBER           on standard error
//	last ID PROCESS OUTS ERRS CHILDREN
//
// Errors are lines with WRONG.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN = 6, LOST = 250 };

static int records, id, process, outs, errs, children;
static unsigned int seed;
static volatile sig_atomic_t signals, disorder;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

// put writes a line by one call. The line is shorter than PIPE_BUF, so it stays whole.
static void put(int fd, const char *line, int n)
{
	if (write(fd, line, n) != n)
		_exit(99);
}

static void record(const char *what, int status)
{
	char line[200];

	put(records, line, snprintf(line, sizeof line, "%s %d %d %d %d %ld\n", what, id, process, getpid(), status, now()));
}

static void out(void)
{
	static char padding[3000];
	char line[3100];

	memset(padding, '.', sizeof padding - 1);
	put(1, line, snprintf(line, sizeof line, "out %d %d %d %d %.*s\n", id, process, outs, getpid(), rand_r(&seed) % 10 ? 5 : 2900, padding));
	outs++;
}

static void err(void)
{
	char line[100];

	put(2, line, snprintf(line, sizeof line, "err %d %d %d\n", id, process, errs++));
}

static void wrong(const char *what, long got)
{
	char line[200];

	put(1, line, snprintf(line, sizeof line, "WRONG %d %d: %s: %ld\n", id, process, what, got));
}

static void nap(int most)
{
	usleep(rand_r(&seed) % most);
}

static void end(int status)
{
	char line[100];

	put(1, line, snprintf(line, sizeof line, "last %d %d %d %d %d\n", id, process, outs, errs, children));
	record("end", status);
	_exit(status);
}

static int childStatus(int number) { return (id + 31 * number) % 200; }

static void child(int number)
{
	process = number;
	seed += number;
	outs = errs = children = 0;
	record("begin", 0);
	for (int n = rand_r(&seed) % 10; n >= 0; n--) {
		out();
		nap(40000);
	}
	end(childStatus(number));
}

static void reap(pid_t *pids, int all)
{
	for (int i = 0; i < CHILDREN; i++) {
		int status;

		if (pids[i] == 0)
			continue;
		pid_t got = waitpid(pids[i], &status, all ? 0 : WNOHANG);
		if (got == 0)
			continue;
		if (got != pids[i])
			wrong("waitpid", errno);
		else if (!WIFEXITED(status) || WEXITSTATUS(status) != childStatus(i + 1))
			wrong("status of a child", status);
		pids[i] = 0;
	}
}

static void got(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	if (info->si_value.sival_int != signals)
		disorder = 1;
	signals++;
}

static void input(long want)
{
	unsigned char b[4096];
	long got = 0;
	int n;

	while ((n = read(0, b, sizeof b)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			wrong("read", errno);
			return;
		}
		for (int i = 0; i < n; i++, got++)
			if (b[i] != (unsigned char)(got * 7 + got / 251 + id)) {
				wrong("input at", got);
				return;
			}
	}
	if (got != want)
		wrong("bytes of input", got);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = got, .sa_flags = SA_SIGINFO | SA_RESTART};
	pid_t pids[CHILDREN] = {0};

	if (argc != 8 || (records = open(argv[1], O_WRONLY | O_APPEND | O_CLOEXEC)) < 0)
		return 98;
	id = atoi(argv[2]);
	seed = atoi(argv[3]);
	sigaction(SIGRTMIN, &action, NULL);
	record("begin", 0);
	out();
	for (long until = now() + atol(argv[4]) * 1000000; now() < until;) {
		int what = rand_r(&seed) % 10;

		if (what == 0)
			err();
		else if (what == 1 && children < CHILDREN) {
			pid_t pid = fork();

			if (pid == 0)
				child(children + 1);
			if (pid < 0)
				wrong("fork", errno);
			pids[children++] = pid;
		} else
			out();
		reap(pids, 0);
		nap(60000);
	}
	input(atol(argv[5]));
	reap(pids, 1);
	for (long until = now() + atol(argv[7]) * 1000000; signals < atoi(argv[6]); usleep(10000))
		if (now() > until)
			end(LOST);
	if (disorder || signals != atoi(argv[6]))
		wrong("signals", signals);
	end(id % 200);
}
