// Changes a tree of processes without end, whatever happens to its descriptors: the test tells it
// by a shared file when to hold, and then it claims its tree.
//
//	storm CONTROL
//
// The file has two numbers: the order, and the number of changes made.
#include "conform.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum { CHURN, HOLD, END };
enum { SIZE = 30 };

struct control {
	atomic_int wanted, changes;
};

static struct control *control;

static struct {
	pid_t pid, child; // a child, and a child of its own or 0
} tree[SIZE];

// live is the life of a child: it may change its group or its session, and have a child.
static void live(unsigned kind, struct gate *ready)
{
	pid_t child = 0;

	if (kind % 3 == 0)
		setpgid(0, 0);
	if (kind % 5 == 0)
		setsid();
	if (kind % 2 == 0)
		child = must("fork", fork());
	if (kind % 2 == 0 && child == 0) {
		for (;;)
			pause();
	}
	must("write", write(ready->fd[1], &child, sizeof child));
	for (;;)
		pause();
}

static void change(unsigned i)
{
	static struct gate ready;
	int at = i * 7 % SIZE;

	if (!ready.fd[1])
		ready = make_gate();
	if (tree[at].pid) {
		if (tree[at].child)
			kill(tree[at].child, SIGKILL);
		kill(tree[at].pid, SIGKILL);
		waitpid(tree[at].pid, NULL, 0);
	}
	tree[at].pid = must("fork", fork());
	if (tree[at].pid == 0)
		live(i, &ready);
	must("read", read(ready.fd[0], &tree[at].child, sizeof tree[at].child));
}

static void claim_tree(void)
{
	claim();
	for (int i = 0; i < SIZE; i++) {
		if (tree[i].pid)
			claim_child(tree[i].pid, 'S');
		if (tree[i].child)
			claim_as(tree[i].child, tree[i].pid, 'S');
	}
	quiet();
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 2)
		return 2;
	fd = must("open", open(argv[1], O_RDWR | O_CLOEXEC));
	control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED)
		die("mmap");
	say("ready");
	for (unsigned i = 0; atomic_load(&control->wanted) != END; i++) {
		change(i);
		atomic_fetch_add(&control->changes, 1);
		if (atomic_load(&control->wanted) == HOLD) {
			claim_tree();
			atomic_store(&control->wanted, CHURN);
			say("held");
		}
	}
	for (int i = 0; i < SIZE; i++) {
		if (tree[i].child)
			kill(tree[i].child, SIGKILL);
		if (tree[i].pid) {
			kill(tree[i].pid, SIGKILL);
			waitpid(tree[i].pid, NULL, 0);
		}
	}
	return 0;
}
