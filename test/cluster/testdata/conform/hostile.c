// What a user may try against the node, its init and its process space. Nothing of it may break
// anything; the results are printed.
#include "hostile.h"

#include <dirent.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

static void close_everything(void)
{
	int status;
	pid_t pid;

	close_range(0, ~0U, 0);
	pid = fork();
	if (pid == 0)
		_exit(getppid() > 1 && kill(getpid(), 0) == 0 && getpgid(getppid()) > 0 ? 5 : 6);
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 5)
		_exit(7);
	execl("/bin/true", "true", NULL);
	_exit(8);
}

static void t_descriptors(void)
{
	attempt("close everything", close_everything);
}

static void seize_init(void)
{
	say("PTRACE_SEIZE of init %s", outcome(ptrace(PTRACE_SEIZE, 1, 0, 0)));
	say("PTRACE_INTERRUPT of init %s", outcome(ptrace(PTRACE_INTERRUPT, 1, 0, 0)));
	say("PTRACE_ATTACH to init %s", outcome(ptrace(PTRACE_ATTACH, 1, 0, 0)));
}

static void t_ptrace(void)
{
	char byte;
	struct iovec mine = {&byte, 1}, theirs = {(void *)0x400000, 1};
	int fd = syscall(SYS_pidfd_open, 1, 0);

	attempt("ptrace", seize_init);
	say("process_vm_readv %s", outcome(process_vm_readv(1, &mine, 1, &theirs, 1, 0)));
	say("process_vm_writev %s", outcome(process_vm_writev(1, &mine, 1, &theirs, 1, 0)));
	say("open mem %s", open("/proc/1/mem", O_RDWR) < 0 ? outcome(-1) : "opened");
	say("open root %s", open("/proc/1/root/etc", O_RDONLY) < 0 ? outcome(-1) : "opened");
	say("open fd %s", open("/proc/1/fd/0", O_RDONLY) < 0 ? outcome(-1) : "opened");
	say("pidfd_open %s", fd < 0 ? outcome(-1) : "opened");
	say("pidfd_getfd %s", syscall(SYS_pidfd_getfd, fd, 0, 0) < 0 ? outcome(-1) : "got");
	say("prlimit %s", outcome(syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, NULL, NULL)));
	say("setpriority %s", outcome(setpriority(PRIO_PROCESS, 1, 19)));
}

static const char *write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		return outcome(-1);
	const char *result = write(fd, text, strlen(text)) < 0 ? outcome(-1) : "written";
	close(fd);
	return result;
}

static void child_works(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(getppid() > 1 ? 5 : 6);
	reap(pid);
}

static void t_numbers(void)
{
	static const char *const values[] = {"0", "5", "1048576", "2000000", "4194303", "-1", "99999999999"};

	for (int i = 0; i < 7; i++) {
		say("ns_last_pid = %s: %s", values[i], write_file("/proc/sys/kernel/ns_last_pid", values[i]));
		attempt("a child then", child_works);
	}
	say("pid_max = 500: %s", write_file("/proc/sys/kernel/pid_max", "500"));
	attempt("a child then", child_works);
	say("oom_score_adj of init: %s", write_file("/proc/1/oom_score_adj", "1000"));
	say("sysrq: %s", write_file("/proc/sys/kernel/sysrq", "0"));
}

static void chosen_number(void)
{
	static const int numbers[] = {1, 2, 300, 5000, 1000000, 1040000, 1048577, 3000000, 4194303};

	for (int i = 0; i < 9; i++) {
		pid_t want = numbers[i];
		struct clone_args a = {.exit_signal = SIGCHLD, .set_tid = (unsigned long)&want, .set_tid_size = 1};
		pid_t pid = syscall(SYS_clone3, &a, sizeof a);

		if (pid == 0)
			_exit(getppid() > 1 ? 5 : 6);
		say("set_tid %d: %s", numbers[i], pid < 0 ? outcome(-1) : "a child");
		if (pid > 0)
			reap(pid);
	}
}

static void t_set_tid(void)
{
	attempt("chosen numbers", chosen_number);
}

static void over_proc(void)
{
	say("mount over /proc: %s", outcome(mount("none", "/proc", "tmpfs", 0, NULL)));
	child_works();
	say("umount: %s", outcome(umount("/proc")));
}

static void over_proc_apart(void)
{
	say("unshare: %s", outcome(unshare(CLONE_NEWNS)));
	say("make private: %s", outcome(mount("", "/", "", MS_REC | MS_PRIVATE, "")));
	over_proc();
	say("umount all: %s", outcome(umount2("/proc", MNT_DETACH)));
	child_works();
}

static void new_root(void)
{
	say("chroot: %s", outcome(chroot("/tmp")));
	child_works();
}

static void t_mounts(void)
{
	attempt("mount", over_proc);
	attempt("mount apart", over_proc_apart);
	attempt("chroot", new_root);
}

// in_guard reports whether a number is in the range that no process of the cluster has, except the
// stand-ins, which hold groups and sessions on a node.
static int in_guard(int number)
{
	return number >= (1 << 20) - (1 << 16) && number < 1 << 20;
}

static void t_init(void)
{
	// The kernel drops the signals that the space's init does not catch.
	static const int sigs[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN};
	DIR *proc = opendir("/proc");
	struct dirent *e;

	for (int i = 0; i < 4; i++) {
		siginfo_t info = {.si_code = SI_QUEUE};

		say("kill init %d: %s", sigs[i], outcome(kill(1, sigs[i])));
		say("tgkill init %d: %s", sigs[i], outcome(syscall(SYS_tgkill, 1, 1, sigs[i])));
		say("queue to init %d: %s", sigs[i], outcome(syscall(SYS_rt_sigqueueinfo, 1, sigs[i], &info)));
	}
	while (proc && (e = readdir(proc))) {
		int number = atoi(e->d_name);

		if (in_guard(number) && kill(number, SIGKILL) == 0)
			say("number %d WRONG: it can be killed", number);
		if (in_guard(number) && kill(-number, SIGKILL) == 0)
			say("group %d WRONG: it can be killed", number);
		if (in_guard(number) && ptrace(PTRACE_SEIZE, number, 0, 0) == 0)
			say("number %d can be traced", number);
	}
	child_works();
}

static void no_processes(void)
{
	struct rlimit none = {0, 0};

	say("setrlimit %s", outcome(setrlimit(RLIMIT_NPROC, &none)));
	say("fork %s", fork() < 0 ? outcome(-1) : "a child");
}

static void t_limits(void)
{
	attempt("no processes", no_processes);
}

static const struct test tests[] = {
	{"descriptors", t_descriptors}, {"ptrace", t_ptrace}, {"numbers", t_numbers}, {"set_tid", t_set_tid},
	{"mounts", t_mounts}, {"init", t_init}, {"limits", t_limits}, {NULL, NULL},
};

int main(int argc, char **argv)
{
	return run_tests(tests, argc, argv);
}
