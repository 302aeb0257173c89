// "pattern write COUNT" writes COUNT bytes of which no two megabytes are equal to standard output;
// "pattern check COUNT" reads them from standard input and prints whether they are the same, with
// nothing after them. "pattern stall COUNT" does the same, but eight times it does not read for 0.7
// s.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 1 << 15 };

static uint64_t want[WORDS], got[WORDS];

// fill computes the words from number first on (splitmix64).
static void fill(uint64_t first)
{
	for (size_t i = 0; i < WORDS; i++) {
		uint64_t z = (first + i) * 0x9e3779b97f4a7c15;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		want[i] = z ^ (z >> 27);
	}
}

static size_t min(size_t a, size_t b) { return a < b ? a : b; }

// transfer reads or writes all of length bytes, or those that there are.
static size_t transfer(ssize_t (*f)(int, char *, size_t), int fd, void *buffer, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = f(fd, (char *)buffer + done, length - done);

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR) {
			perror("pattern");
			exit(1);
		}
		if (n > 0)
			done += n;
	}
	return done;
}

static ssize_t put(int fd, char *b, size_t n) { return write(fd, b, n); }
static ssize_t get(int fd, char *b, size_t n) { return read(fd, b, n); }

int main(int argc, char **argv)
{
	int stall = argc == 3 && !strcmp(argv[1], "stall");
	int check = stall || (argc == 3 && !strcmp(argv[1], "check"));
	uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	char more;

	if (!check && (argc != 3 || strcmp(argv[1], "write"))) {
		fprintf(stderr, "usage: pattern write|check|stall COUNT\n");
		return 2;
	}
	for (uint64_t at = 0; at < count; at += sizeof want) {
		size_t length = min(sizeof want, count - at);

		if (stall && at % (count / 8 / sizeof want * sizeof want) == 0)
			usleep(700000);
		fill(at / sizeof *want);
		if (!check) {
			transfer(put, 1, want, length);
		} else if (transfer(get, 0, got, length) != length || memcmp(got, want, length)) {
			printf("differs in the %zu bytes from %llu on\n", length, (unsigned long long)at);
			return 1;
		}
	}
	if (check && transfer(get, 0, &more, 1)) {
		printf("goes on after %llu bytes\n", (unsigned long long)count);
		return 1;
	}
	if (check)
		printf("%llu bytes as written\n", (unsigned long long)count);
	return 0;
}
