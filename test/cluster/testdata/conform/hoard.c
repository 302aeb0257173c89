// Forks as many children as it can, up to a number, keeps them for a moment and ends them, again
// and again. None may end before it is told to, and fork(2) must fail with EAGAIN when there can be
// no more.
//
//	hoard CHILDREN SECONDS
#include "conform.h"

#include <time.h>

int main(int argc, char **argv)
{
	int children = argc == 3 ? atoi(argv[1]) : 0, seconds = argc == 3 ? atoi(argv[2]) : 0;
	pid_t *all = calloc(children + 1, sizeof *all);
	time_t end = time(NULL) + seconds;
	long made = 0, refused = 0, most = 0, least = children;
	int rounds = 0;

	while (time(NULL) < end || rounds == 0) {
		int n = 0, tries = 0, status;

		while (n < children && tries < 200) {
			pid_t pid = fork();

			if (pid == 0) {
				for (;;)
					pause();
			}
			if (pid > 0) {
				all[n++] = pid;
				continue;
			}
			if (errno != EAGAIN)
				die("fork");
			refused++;
			tries++;
			usleep(1000);
		}
		if (waitpid(-1, &status, WNOHANG) != 0)
			say("a child has ended WRONG, with %x", status);
		made += n;
		most = n > most ? n : most;
		least = n < least ? n : least;
		for (int i = 0; i < n; i++)
			kill(all[i], SIGKILL);
		for (int i = 0; i < n; i++)
			if (waitpid(all[i], &status, 0) != all[i] || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
				say("child %d has ended WRONG, with %x", all[i], status);
		rounds++;
	}
	printf("rounds %d made %ld least %ld most %ld refused %ld\n", rounds, made, least, most, refused);
	return 0;
}
