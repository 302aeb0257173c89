// A program to trace: makes calls in two processes. With "wait" it prints "ready {PID}" and lives
// until its input ends.
#include "conform.h"

volatile int number = 4711;

__attribute__((noinline)) void here(int who)
{
	say("process %d has %d", who, number + who);
}

int main(int argc, char **argv)
{
	char c;

	if (argc > 1 && strcmp(argv[1], "wait") == 0) {
		say("ready " PID, getpid());
		while (read(0, &c, 1) > 0)
			;
		here(0);
		return 0;
	}
	here(1);
	pid_t pid = must("fork", fork());
	if (pid == 0) {
		here(2);
		_exit(3);
	}
	reap(pid);
	here(3);
	return 0;
}
