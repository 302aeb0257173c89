// "crowd COUNT" makes COUNT children that do nothing, says ready, and ends them when
// its standard input ends.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;
	char byte;

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			fprintf(stderr, "crowd: fork: %s\n", strerror(errno));
			break;
		}
		while (pid == 0)
			pause();
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM); // they and bpsh are one group
	while (wait(NULL) > 0)
		;
	return 0;
}
