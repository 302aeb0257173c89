// "jobchaos NAME RECORDS LINES PAUSE CODE" is a process of a job that shows that it is the only
// one: it and its child hold a lock on RECORDS.NAME as long as they live. It prints LINES lines
// "START NUMBER", with PAUSE milliseconds after each, and exits with CODE; START is its start time.
// It appends these lines to RECORDS:
//
//	overlap NAME        another process has the lock
//	begin NAME START
//	end NAME START      it has printed all lines
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const char *name;
static int records;

static void fail(const char *what)
{
	fprintf(stderr, "jobchaos: %s: %s\n", what, strerror(errno));
	exit(100);
}

static void record(const char *what, long long start)
{
	char line[200];
	int n = snprintf(line, sizeof line, "%s %s %lld\n", what, name, start);

	if (write(records, line, n) != n) // at once: the file is opened for appending
		fail("write a record");
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "jobchaos NAME RECORDS LINES PAUSE CODE\n");
		return 2;
	}
	name = argv[1];
	int lines = atoi(argv[3]), wait = atoi(argv[4]);
	char path[1000];
	struct timespec t;

	records = open(argv[2], O_WRONLY | O_APPEND | O_CLOEXEC);
	if (records < 0)
		fail(argv[2]);
	snprintf(path, sizeof path, "%s.%s", argv[2], name);
	int lock = open(path, O_RDWR | O_CREAT, 0666);
	if (lock < 0)
		fail(path);
	if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK)
			fail("flock");
		record("overlap", 0);
		return 99;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	long long start = t.tv_sec * 1000000000LL + t.tv_nsec;
	record("begin", start);
	pid_t child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) { // holds the lock, too
		if (atoi(argv[5]) != 0) // the others end at once when they are stopped
			signal(SIGTERM, SIG_IGN);
		for (;;)
			sleep(1000);
	}
	for (int i = 0; i < lines; i++) {
		printf("%lld %d\n", start, i);
		fflush(stdout);
		usleep(wait * 1000);
	}
	printf("%lld end\n", start);
	fflush(stdout);
	record("end", start);
	return atoi(argv[5]);
}
