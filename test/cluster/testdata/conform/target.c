// Prints the signals that it gets, until SIGTERM: "ready {PID}", then for each "SIGNAL uid UID
// value VALUE".
#include "conform.h"

static void log_signal(int sig, const siginfo_t *info)
{
	say("signal %d uid %u value %d", sig, info->si_uid, info->si_code == SI_QUEUE ? info->si_value.sival_int : 0);
}

int main(void)
{
	struct timespec now = {0};
	sigset_t all;
	siginfo_t info;
	int sig;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	say("ready " PID, getpid());
	while ((sig = sigwaitinfo(&all, &info)) != SIGTERM)
		if (sig > 0)
			log_signal(sig, &info);
	// A lower number is taken first; signals before SIGTERM may still be pending.
	while ((sig = sigtimedwait(&all, &info, &now)) > 0)
		log_signal(sig, &info);
	return 0;
}
