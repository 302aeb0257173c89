// A group of runners that cannot be caught one by one: each makes the next one and ends.
#include "conform.h"

enum { RUNNERS = 6 };

int main(void)
{
	setpgid(0, 0);
	signal(SIGCHLD, SIG_IGN);
	say("ready " PID, getpid());
	for (int i = 1; i < RUNNERS; i++)
		if (must("fork", fork()) == 0)
			break;
	for (;;)
		if (must("fork", fork()))
			_exit(0);
}
