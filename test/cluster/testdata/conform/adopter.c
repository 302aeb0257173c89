// Runs a command, and adopts its orphans: a subreaper (prctl(2)), as shells and service managers
// are.
#include "conform.h"

int main(int argc, char **argv)
{
	int status, result = 1;
	pid_t pid, command;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	command = must("fork", fork());
	if (command == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	while ((pid = wait(&status)) > 0)
		if (pid == command)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return result;
}
