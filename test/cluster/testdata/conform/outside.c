// Signals to processes elsewhere. Operands are NAME=PID, or NAME=-PGID for a group; "all" is every
// process that may be signalled.
#include "conform.h"

static int queue(pid_t pid, pid_t tid, int sig, int code, int value)
{
	siginfo_t info = {.si_signo = sig, .si_code = code};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = value;
	if (tid)
		return syscall(SYS_rt_tgsigqueueinfo, pid, tid, sig, &info);
	return syscall(SYS_rt_sigqueueinfo, pid, sig, &info);
}

static void by_descriptor(pid_t pid)
{
	siginfo_t info = {.si_signo = SIGRTMIN + 7, .si_code = SI_QUEUE};
	int fd = syscall(SYS_pidfd_open, pid, 0);

	info.si_uid = getuid();
	info.si_value.sival_int = 7;
	say("pidfd_open %s", fd < 0 ? outcome(fd) : "gives a descriptor");
	if (fd < 0)
		return;
	say("pidfd_send_signal 0 %s", outcome(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0)));
	say("pidfd_send_signal %s", outcome(syscall(SYS_pidfd_send_signal, fd, SIGRTMIN + 6, NULL, 0)));
	say("pidfd_send_signal with info %s", outcome(syscall(SYS_pidfd_send_signal, fd, SIGRTMIN + 7, &info, 0)));
	close(fd);
}

static void to_process(pid_t pid)
{
	say("kill 0 %s", outcome(kill(pid, 0)));
	say("kill %s", outcome(kill(pid, SIGRTMIN + 1)));
	say("kill 65 %s", outcome(kill(pid, 65)));
	say("tkill %s", outcome(syscall(SYS_tkill, pid, SIGRTMIN + 2)));
	say("tgkill %s", outcome(syscall(SYS_tgkill, pid, pid, SIGRTMIN + 3)));
	say("tgkill of another's thread %s", outcome(syscall(SYS_tgkill, getpid(), pid, SIGRTMIN + 3)));
	say("tgkill of my thread there %s", outcome(syscall(SYS_tgkill, pid, getpid(), SIGRTMIN + 3)));
	for (int i = 0; i < 3; i++)
		say("rt_sigqueueinfo %s", outcome(queue(pid, 0, SIGRTMIN + 4, SI_QUEUE, 40 + i)));
	say("rt_sigqueueinfo as kill %s", outcome(queue(pid, 0, SIGRTMIN + 4, SI_USER, 43)));
	say("rt_tgsigqueueinfo %s", outcome(queue(pid, pid, SIGRTMIN + 5, SI_QUEUE, 50)));
	say("rt_tgsigqueueinfo of another's thread %s", outcome(queue(getpid(), pid, SIGRTMIN + 5, SI_QUEUE, 51)));
	by_descriptor(pid);
	say("group %s", getpgid(pid) < 0 ? outcome(-1) : "");
	say("getpgid " PID ", getsid " PID, getpgid(pid), getsid(pid));
	say("setpgid %s", outcome(setpgid(pid, 0)));
	say("wait %s", outcome(waitpid(pid, NULL, WNOHANG)));
}

static void to_group(pid_t group)
{
	say("kill 0 %s", outcome(kill(group, 0)));
	say("kill 65 %s", outcome(kill(group, 65)));
	say("kill %s", outcome(kill(group, SIGWINCH)));
}

int main(int argc, char **argv)
{
	signal(SIGURG, SIG_IGN);
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			return 2;
		*value++ = 0;
		say("== %s", argv[i]);
		if (strcmp(value, "all") == 0)
			say("kill %s", outcome(kill(-1, SIGURG)));
		else if (*value == '-')
			to_group(atoi(value));
		else
			to_process(atoi(value));
	}
	return 0;
}
