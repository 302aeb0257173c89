// Writes a line for every signal that it gets, with its siginfo: "ready", then "SIGNAL CODE UID
// VALUE". It takes all 64 except SIGKILL and SIGSTOP, including glibc's two, so it calls the kernel
// itself.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	unsigned long all = ~0UL;

	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all) < 0) {
		perror("rt_sigprocmask");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	for (;;) {
		siginfo_t info;
		int sig = syscall(SYS_rt_sigtimedwait, &all, &info, NULL, sizeof all);

		if (sig > 0)
			printf("%d %d %u %#lx\n", sig, info.si_code, info.si_uid,
			       (unsigned long)info.si_value.sival_ptr);
	}
}
