// Shared by the programs of the conformance suite.
//
// A program is a list of cases. Each runs in a process of its own and prints what the kernel tells
// it: a transcript, in which a process number is {NUMBER}, so that the test can give it a name.
// Lines that begin with @ are only for the test:
//
//	@proc PID PPID PGID SID RUID EUID SUID RGID EGID SGID STATE COMM
//	                   a claim: what the front end must show of this process
//	@args PID ARG...   its arguments, separated by 0x1f
//	@note TEXT         how this came about, shown if a claim is wrong
//	@quiet             waits until the test has verified all claims before it and
//	                   has written a line
//
// A program itself checks what it knows, and prints WRONG.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define PID "{%d}"
#define MAYBE static __attribute__((unused))

// PATIENCE ends a case that hangs, in seconds. The test waits less long for what is claimed, so that
// it finds the processes as they were.
#define PATIENCE 150

// say writes a line by one call, so that lines of several processes stay whole.
MAYBE __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
	char line[3900]; // below PIPE_BUF
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof line - 1, format, args);
	va_end(args);
	if (n > (int)sizeof line - 2)
		n = sizeof line - 2;
	line[n++] = '\n';
	if (write(1, line, n) != n)
		_exit(99);
}

MAYBE __attribute__((noreturn)) void die(const char *what)
{
	say("WRONG: %s: %s", what, strerrorname_np(errno));
	_exit(98);
}

// must ends the program if a call fails.
MAYBE long must(const char *what, long result)
{
	if (result < 0)
		die(what);
	return result;
}

// outcome returns the name of the result of a call that returns 0 or -1.
MAYBE const char *outcome(long result)
{
	static __thread char number[24];

	if (result == -1)
		return strerrorname_np(errno);
	snprintf(number, sizeof number, "%ld", result);
	return number;
}

MAYBE void check_pid(const char *what, pid_t got, pid_t want)
{
	if (got == want)
		say("%s " PID, what, got);
	else
		say("%s " PID " WRONG, want " PID, what, got, want);
}

MAYBE void check_int(const char *what, long got, long want)
{
	if (got == want)
		say("%s %ld", what, got);
	else
		say("%s %ld WRONG, want %ld", what, got, want);
}

MAYBE void check_outcome(const char *what, long result, const char *want)
{
	const char *got = outcome(result);

	if (strcmp(got, want) == 0)
		say("%s %s", what, got);
	else
		say("%s %s WRONG, want %s", what, got, want);
}

// describe returns the name of a status of wait4.
MAYBE const char *describe(int status)
{
	static __thread char text[40];

	if (WIFEXITED(status))
		snprintf(text, sizeof text, "exit %d", WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		snprintf(text, sizeof text, "signal %d", WTERMSIG(status));
	else if (WIFSTOPPED(status))
		snprintf(text, sizeof text, "stopped %d", WSTOPSIG(status));
	else if (WIFCONTINUED(status))
		snprintf(text, sizeof text, "continued");
	else
		snprintf(text, sizeof text, "status %#x", status);
	return text;
}

// reap waits for a child of any kind, or for any child (-1), and prints how it ended.
MAYBE void reap(pid_t pid)
{
	int status;
	pid_t got = must("reap", waitpid(pid, &status, __WALL));

	if (pid != -1 && got != pid)
		say("WRONG: reaped another child than " PID, pid);
	say("reaped " PID " %s", got, describe(status));
}

// A gate holds a process until another one lets it pass.
struct gate {
	int fd[2];
};

MAYBE struct gate make_gate(void)
{
	struct gate g;

	must("pipe", pipe(g.fd));
	return g;
}

MAYBE void let_pass(struct gate *g)
{
	if (write(g->fd[1], "", 1) != 1)
		die("let pass");
}

MAYBE void wait_at(struct gate *g)
{
	char c;
	ssize_t n;

	do
		n = read(g->fd[0], &c, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		die("wait at gate");
}

// read_proc reads a small file of a process.
MAYBE int read_proc(pid_t pid, const char *file, char *text, int size)
{
	char path[64];
	int fd, n;

	snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	text[n] = 0;
	return n;
}

// state_of returns the letter in /proc; 0 if the process does not exist.
MAYBE char state_of(pid_t pid)
{
	char text[1024], *end;

	if (read_proc(pid, "stat", text, sizeof text) < 0)
		return 0;
	end = strrchr(text, ')');
	return end ? end[2] : 0;
}

// claim_as claims what the front end must show of a process.
MAYBE void claim_as(pid_t pid, pid_t ppid, char state)
{
	unsigned u[3] = {0}, g[3] = {0};
	char text[4096], comm[64] = "";
	const char *line;
	int n;

	if (read_proc(pid, "status", text, sizeof text) < 0)
		die("read status");
	if ((line = strstr(text, "\nUid:")))
		sscanf(line, "\nUid: %u %u %u", &u[0], &u[1], &u[2]);
	if ((line = strstr(text, "\nGid:")))
		sscanf(line, "\nGid: %u %u %u", &g[0], &g[1], &g[2]);
	read_proc(pid, "comm", comm, sizeof comm);
	comm[strcspn(comm, "\n")] = 0;
	say("@proc %d %d %d %d %u %u %u %u %u %u %c %s", pid, ppid, getpgid(pid), getsid(pid),
	    u[0], u[1], u[2], g[0], g[1], g[2], state, comm);
	n = read_proc(pid, "cmdline", text, 1024);
	for (int i = 0; i < n - 1; i++)
		if (!text[i])
			text[i] = 0x1f;
	if (n > 0)
		say("@args %d %s", pid, text);
}

// claim claims the calling process, which must sleep when it is verified.
MAYBE void claim(void)
{
	claim_as(getpid(), getppid(), 'S');
}

MAYBE void claim_child(pid_t pid, char state)
{
	claim_as(pid, getpid(), state);
}

// quiet makes the test verify the claims.
MAYBE void quiet(void)
{
	char c = 0;

	say("@quiet");
	while (c != '\n')
		if (read(0, &c, 1) != 1)
			die("quiet");
}

// A test is one case.
struct test {
	const char *name;
	void (*run)(void);
};

// run_tests runs the tests named in argv, or all.
MAYBE int run_tests(const struct test *tests, int argc, char **argv)
{
	for (const struct test *t = tests; t->name; t++) {
		int wanted = argc < 2;
		pid_t pid;

		for (int i = 1; i < argc; i++)
			wanted |= strcmp(argv[i], t->name) == 0;
		if (!wanted)
			continue;
		say("== %s", t->name);
		pid = must("fork", fork());
		if (pid == 0) {
			alarm(PATIENCE);
			t->run();
			_exit(0);
		}
		reap(pid);
	}
	return 0;
}
