/* The last step of a command into a machine: see ../enter.go.
 *
 *	enter NAMESPACE REPORT UID GID PATH ARG...
 *
 * NAMESPACE and REPORT are descriptors, which the command does not get. A failure is
 * written to REPORT as "ERRNO STEP". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *become(char **argv)
{
	int namespace = atoi(argv[1]), report = atoi(argv[2]);
	uid_t uid = atoi(argv[3]);
	gid_t gid = atoi(argv[4]);

	if (fcntl(namespace, F_SETFD, FD_CLOEXEC) || fcntl(report, F_SETFD, FD_CLOEXEC))
		return "keep descriptors from the command";
	if (setns(namespace, CLONE_NEWCGROUP))
		return "enter cgroup namespace";
	if (uid && (setgroups(0, NULL) || setgid(gid) || setuid(uid)))
		return "become the user";
	execv(argv[5], argv + 6);
	return "exec";
}

int main(int argc, char **argv)
{
	char *step;

	if (argc < 7) {
		fprintf(stderr, "usage: %s NAMESPACE REPORT UID GID PATH ARG...\n", argv[0]);
		return 126;
	}
	step = become(argv);
	dprintf(atoi(argv[2]), "%d %s", errno, step);
	return 126;
}
