// Loses its parent: writes to a file which signal it got then, and its new parent. With "stop" it
// makes a group of its own, and stops itself as a terminal would.
#include "conform.h"

static void log_to(const char *path)
{
	int fd = must("open", open(path, O_WRONLY | O_APPEND));

	must("dup2", dup2(fd, 1));
}

int main(int argc, char **argv)
{
	pid_t parent = getppid();
	sigset_t set;
	int sig;

	if (argc == 2 && strcmp(argv[1], "stop") == 0) {
		check_outcome("setpgid", setpgid(0, 0), "0");
		say("ready " PID, getpid());
		raise(SIGTSTP);
		say("continued");
		return 3;
	}
	if (argc != 2)
		return 2;
	signal(SIGHUP, SIG_IGN); // a bpsh that ends hangs up
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	say("ready " PID, getpid());
	must("sigwait", sigwait(&set, &sig));
	log_to(argv[1]);
	while (getppid() == parent)
		sched_yield();
	say("got %d, parent %d", sig, getppid());
	return 0;
}
