// "crowd COUNT" makes COUNT idle children, prints ready, and ends them, one after the other, when
// its standard input ends. It is linked statically, so that a child has only a few pages.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void idle(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	_exit(0);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;
	pid_t *pids = calloc(count + 1, sizeof *pids);
	pid_t self = getpid();
	char byte;

	for (int i = 0; i < count; i++) {
		pids[i] = fork();
		if (pids[i] < 0) {
			fprintf(stderr, "crowd: fork: %s\n", strerror(errno));
			return 1;
		}
		if (pids[i] == 0)
			idle(self);
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	for (int i = 0; i < count; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return 0;
}
