// Descriptors of processes elsewhere, which end together with them. Operands are NAME=PID.
#include "conform.h"
#include <poll.h>
#include <sys/resource.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

// full opens a descriptor of a process when there is no room for one more.
static int full(pid_t pid)
{
	struct rlimit all, none;
	int fd, saved;

	must("getrlimit", getrlimit(RLIMIT_NOFILE, &all));
	none = all;
	none.rlim_cur = 3;
	must("setrlimit", setrlimit(RLIMIT_NOFILE, &none));
	fd = syscall(SYS_pidfd_open, pid, 0);
	saved = errno;
	must("setrlimit", setrlimit(RLIMIT_NOFILE, &all));
	errno = saved;
	return fd;
}

static void until_gone(int fd)
{
	struct pollfd ended = {.fd = fd, .events = POLLIN};

	say("poll %d", poll(&ended, 1, PATIENCE * 1000));
	say("readable %d", !!(ended.revents & POLLIN)); // also POLLHUP once it is waited for (Linux 6.12)
	// A zombie can be signalled until its parent has waited for it.
	while (syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == 0)
		usleep(1000);
	say("signal afterwards %s", outcome(-1));
}

static void watch(pid_t pid)
{
	struct pollfd ended = {.events = POLLIN};
	siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
	int fd, other;

	say("unknown flags %s", outcome(syscall(SYS_pidfd_open, pid, 1)));
	say("no room %s", outcome(full(pid)));
	fd = must("pidfd_open", syscall(SYS_pidfd_open, pid, O_NONBLOCK));
	other = must("pidfd_open", syscall(SYS_pidfd_open, pid, 0));
	say("flags %d %d", fcntl(fd, F_GETFD), !!(fcntl(fd, F_GETFL) & O_NONBLOCK));
	say("flags of another %d %d", fcntl(other, F_GETFD), !!(fcntl(other, F_GETFL) & O_NONBLOCK));
	must("close", close(other));
	ended.fd = fd;
	say("poll %d", poll(&ended, 1, 0));
	say("wait %s", outcome(waitid(P_PIDFD, fd, &info, WEXITED | WNOHANG)));
	say("unknown flags of signal %s", outcome(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 1 << 20)));
	info.si_signo = SIGUSR2;
	info.si_code = SI_QUEUE;
	say("info of another signal %s", outcome(syscall(SYS_pidfd_send_signal, fd, SIGUSR1, &info, 0)));
	say("info from nowhere %s", outcome(syscall(SYS_pidfd_send_signal, fd, SIGUSR1, (void *)8, 0)));
	say("no signal %s", outcome(syscall(SYS_pidfd_send_signal, fd, 65, NULL, 0)));
	if (syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) == 0) {
		until_gone(fd);
	} else {
		say("signal %s", outcome(-1));
		say("its descriptor %s", outcome(syscall(SYS_pidfd_getfd, fd, 0, 0)));
	}
	must("close", close(fd));
}

int main(int argc, char **argv)
{
	alarm(PATIENCE);
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			return 2;
		*value++ = 0;
		say("== %s", argv[i]);
		watch(atoi(value));
	}
	return 0;
}
