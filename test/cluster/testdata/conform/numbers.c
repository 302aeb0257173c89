// As soon as a file exists, makes more children, one after the other, than there are numbers in a
// block and the gap behind it, and writes the range of their numbers to another file. It makes no
// call that the supervisor decides.
#include "conform.h"
#include <sys/wait.h>

enum { BIRTHS = 20000 };

int main(int argc, char **argv)
{
	pid_t least = 0, most = 0;

	if (argc != 3)
		return 2;
	printf("ready\n");
	fflush(stdout);
	while (access(argv[1], F_OK))
		usleep(10000);
	for (int i = 0; i < BIRTHS; i++) {
		pid_t pid = vfork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 3;
		if (!least || pid < least)
			least = pid;
		if (pid > most)
			most = pid;
	}
	FILE *out = fopen(argv[2], "w");

	return !out || fprintf(out, "%d %d\n", (int)least, (int)most) < 0 || fclose(out) ? 4 : 0;
}
