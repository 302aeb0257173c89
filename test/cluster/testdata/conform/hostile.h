// How a hostile program tries things: each in a process of its own.
#include "conform.h"

// attempt runs a function in a child and prints how that ended.
MAYBE void attempt(const char *what, void (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(PATIENCE);
		run();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		say("%s: no child: %s", what, outcome(-1));
	else
		say("%s: %s", what, describe(status));
}

// try_child makes a child by a clone with flags; the child looks around.
MAYBE void try_child(const char *what, unsigned long flags)
{
	int status;
	pid_t pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0);

	if (pid == 0) {
		pid_t inner = fork();

		if (inner == 0)
			_exit(kill(getppid(), 0) < 0);
		waitpid(inner, &status, 0);
		say("%s: child: kill of itself %s, of init %s, of its group %s, parent %s, inner %s", what, outcome(kill(getpid(), 0)),
		    outcome(kill(1, 0)), getpgid(0) < 0 ? outcome(-1) : "found", getppid() ? "known" : "0", describe(status));
		setsid();
		_exit(0);
	}
	if (pid < 0) {
		say("%s: %s", what, outcome(-1));
		return;
	}
	waitpid(pid, &status, 0);
	say("%s: %s", what, describe(status));
}
