// Random trees of processes, from a seed: births, execs, groups, sessions, stops, continues,
// signals, waits and ends. A model has the correct state after each step, and every answer is
// compared with it.
//
//	trees DIRECTORY FIRST LAST STEPS EVERY
//
// runs the seeds FIRST to LAST with STEPS steps each, and claims the whole tree
// (conform.h) at the end of each EVERYth.
#include "trees_worker.h"

#include "trees_model.h"

#include <poll.h>
#include <sys/resource.h>

enum { PATIENCE_MS = 20000, HISTORY = 400, NO_ANSWER = -1 };

static unsigned long state; // of the random numbers
static int seed, step;
static int settled[SLOTS]; // the enum life that was last seen
static int at_home;        // in a group that is not only ours, and must not be stopped
static char history[HISTORY][100];
static int lines;

static unsigned pick(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 16) % n;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	va_list args;

	if (lines == HISTORY)
		return;
	va_start(args, format);
	vsnprintf(history[lines++], sizeof history[0], format, args);
	va_end(args);
}

static void kill_all(void)
{
	for (int p = 1; p < SLOTS; p++)
		if (model[p].life != GONE)
			kill(model[p].pid, SIGKILL);
}

__attribute__((format(printf, 2, 3))) static void want(int right, const char *format, ...)
{
	char what[200];
	va_list args;

	if (right)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	for (int i = 0; i < lines; i++)
		say("%s", history[i]);
	for (int p = 0; p < SLOTS; p++)
		if (model[p].life != GONE)
			say("slot %d: %d parent %d group %d session %d life %d", p, model[p].pid, pid_of(model[p].parent),
			    model[p].pgid, model[p].sid, model[p].life);
	say("WRONG: seed %d step %d: %s", seed, step, what);
	kill_all();
	_exit(1);
}

// answered waits until a process has answered its last command. A process that has sent a signal
// may end by the signal, and not answer.
static void answered(int p)
{
	struct slot *s = &shared->slot[p];
	unsigned asked = atomic_load(&s->asked), done;

	for (int ms = 0; (done = atomic_load(&s->done)) != asked; ms++) {
		char c = ms < 3 ? 'R' : state_of(model[p].pid);

		if (s->command == KILL && (c == 'Z' || c == 0)) {
			s->error = NO_ANSWER;
			return;
		}
		want(ms < PATIENCE_MS, "slot %d, %d, does not answer; it is %c", p, model[p].pid, c);
		futex_wait(&s->done, done, 1);
	}
}

// tell gives a process a command and waits for its answer, if there will be one.
static struct slot *tell(int p, enum command c, int a, int b)
{
	struct slot *s = &shared->slot[p];

	s->command = c;
	s->arg[0] = a;
	s->arg[1] = b;
	if (p == 0) {
		perform(s);
		return s;
	}
	atomic_fetch_add(&s->asked, 1);
	futex_wake(&s->asked);
	if (c != EXIT)
		answered(p);
	return s;
}

static void want_error(struct slot *s, int error, const char *what)
{
	want(s->error == error, "%s: result %d error %d, want error %d", what, s->result, s->error, error);
}

// Each of these picks at random; -1 means none.
static int any(enum life life, enum life or)
{
	int found[SLOTS], n = 0;

	for (int p = 1; p < SLOTS; p++)
		if (model[p].life == life || model[p].life == or)
			found[n++] = p;
	return n ? found[pick(n)] : -1;
}

static int any_there(void)
{
	int p = pick(3) ? any(RUNNING, STOPPED) : any(ZOMBIE, ZOMBIE);

	return p < 0 ? any(RUNNING, STOPPED) : p;
}

// actor returns a process that can carry out a command.
static int actor(void)
{
	int p = pick(6) ? any(RUNNING, RUNNING) : 0;

	return p < 0 ? 0 : p;
}

// settle_death waits until the kernel has done what the model says. Of several ends at once, one
// may have come before or after that of an ignoring parent.
static void settle_death(int p)
{
	struct process *m = &model[p];
	struct pollfd fd = {.fd = m->fd, .events = POLLIN};
	char text[1024], *rest;

	while (poll(&fd, 1, PATIENCE_MS) < 0 && errno == EINTR)
		;
	getpriority(PRIO_PGRP, 0); // waits for the lock that the kernel holds while it notifies the parent
	want(fd.revents, "slot %d, %d, has not ended; it is %c", p, m->pid, state_of(m->pid));
	close(m->fd);
	m->fd = -1;
	for (int ms = 0; m->life == GONE || deaths > 1; ms++) {
		int ppid = 0;

		if (read_proc(m->pid, "stat", text, sizeof text) < 0) {
			m->life = GONE;
			return;
		}
		rest = strrchr(text, ')');
		sscanf(rest + 3, "%d", &ppid);
		int parent = slot_of(ppid);
		if (deaths > 1 && rest[2] == 'Z' && parent >= 0 && model[parent].life != ZOMBIE && !buried(parent)) {
			m->life = ZOMBIE;
			m->parent = parent;
			return;
		}
		want(ms < PATIENCE_MS, "slot %d, %d, is still there: %s", p, m->pid, text);
		usleep(1000);
	}
}

static void settle(void)
{
	for (int p = 1; p < SLOTS; p++)
		if (model[p].fd >= 0 && (model[p].life == ZOMBIE || model[p].life == GONE))
			settle_death(p);
	for (int p = 1; p < SLOTS; p++) {
		struct process *m = &model[p];

		for (int ms = 0; m->life == STOPPED && settled[p] != STOPPED && state_of(m->pid) != 'T'; ms++) {
			want(ms < PATIENCE_MS, "slot %d, %d, is not stopped but %c", p, m->pid, state_of(m->pid));
			usleep(1000);
		}
		if (m->life == RUNNING && (m->usr1_low < m->usr1_high || m->usr1_high > atomic_load(&shared->slot[p].usr1))) {
			tell(p, ASK, 0, 0); // earlier signals have arrived when it answers
			int caught = atomic_load(&shared->slot[p].usr1);
			want(caught >= m->usr1_low && caught <= m->usr1_high, "slot %d, %d, has caught %d signals, want %d to %d",
			     p, m->pid, caught, m->usr1_low, m->usr1_high);
			m->usr1_low = m->usr1_high = caught;
		}
		if (m->life == RUNNING && m->must_answer)
			tell(p, ASK, 0, 0);
		m->must_answer = 0;
		settled[p] = m->life;
	}
}

// verify compares the answers of a process and the kernel with the model.
static void verify(int p)
{
	struct process *m = &model[p];

	if (m->life == GONE)
		return;
	pid_t pgid = getpgid(m->pid), sid = getsid(m->pid);

	want(pgid == m->pgid, "group of %d is %d, want %d: %s", m->pid, pgid, m->pgid, strerrorname_np(errno));
	want(sid == m->sid, "session of %d is %d, want %d: %s", m->pid, sid, m->sid, strerrorname_np(errno));
	want(kill(m->pid, 0) == 0, "kill of %d: %s", m->pid, strerrorname_np(errno));
	if (m->life == RUNNING) {
		struct slot *s = tell(p, ASK, 0, 0);

		want(s->pid == m->pid, "%d says it is %d", m->pid, s->pid);
		want(p == 0 || s->ppid == pid_of(m->parent), "%d says its parent is %d, want %d", m->pid, s->ppid, pid_of(m->parent));
		want(s->pgid == m->pgid, "%d says its group is %d, want %d", m->pid, s->pgid, m->pgid);
		want(s->sid == m->sid, "%d says its session is %d, want %d", m->pid, s->sid, m->sid);
		want(atomic_load(&s->usr1) == m->usr1_low, "%d has caught %d signals, want %d", m->pid, s->usr1, m->usr1_low);
	} else if (m->life == STOPPED || m->life == ZOMBIE) {
		char c = state_of(m->pid);

		want(c == (m->life == STOPPED ? 'T' : 'Z'), "%d is %c", m->pid, c);
	}
}

#include "trees_steps.h"

// claim_all claims the tree by the model.
static void claim_all(void)
{
	say("@note seed %d", seed);
	for (int i = 0; i < lines; i++)
		say("@note %s", history[i]);
	for (int p = 1; p < SLOTS; p++) {
		struct process *m = &model[p];
		int gid = getgid();

		if (m->life != GONE)
			say("@proc %d %d %d %d %d %d %d %d %d %d %c %s", m->pid, pid_of(m->parent), m->pgid, m->sid, m->uid,
			    m->uid, m->uid, gid, gid, gid, m->life == RUNNING ? 'S' : m->life == STOPPED ? 'T' : 'Z', NAMES[m->name]);
	}
	quiet();
}

// clean_up ends a tree: then there are no children.
static void clean_up(void)
{
	kill_all();
	while (waitpid(-1, NULL, 0) > 0)
		;
	for (int p = 1; p < SLOTS; p++)
		for (int ms = 0; model[p].life != GONE && state_of(model[p].pid); ms++) {
			want(ms < PATIENCE_MS, "%d is still there", model[p].pid);
			usleep(1000);
		}
}

static void on_hup(int sig)
{
}

// run_seed is the life of the process that directs one tree. It is in the session and group of the
// program's starter, or leads its own.
static void run_seed(int steps, int claimed)
{
	state = seed * 0x9e3779b97f4a7c15ul + 1;
	memset(shared->slot, 0, sizeof shared->slot);
	for (int p = 0; p < SLOTS; p++)
		model[p].fd = -1;
	signal(SIGHUP, on_hup); // it is in groups that are hung up; calls are restarted (signal(7))
	at_home = pick(2);
	if (!at_home)
		must("setsid", setsid());
	model[0] = (struct process){.life = RUNNING, .pid = getpid(), .pgid = getpgrp(), .sid = getsid(0), .uid = getuid(),
				    .parent = INIT, .fd = -1, .execed = 1, .subreaper = pick(2)};
	prctl(PR_SET_CHILD_SUBREAPER, model[0].subreaper);
	for (step = 0; step < steps; step++) {
		deaths = 0;
		random_step();
		settle();
		int p = any_there();
		verify(p < 0 ? 0 : p);
	}
	for (int p = 0; p < SLOTS; p++)
		verify(p);
	if (claimed)
		claim_all();
	clean_up();
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--worker") == 0) {
		map_shared();
		work(atoi(argv[2]));
	}
	if (argc != 6)
		return 2;
	int fd = must("memfd_create", memfd_create("trees", 0));
	must("ftruncate", ftruncate(fd, sizeof *shared));
	must("dup2", dup2(fd, SHARED_FD));
	close(fd);
	map_shared();
	snprintf(shared->directory, sizeof shared->directory, "%s", argv[1]);
	for (seed = atoi(argv[2]); seed <= atoi(argv[3]); seed++) {
		int status;
		pid_t pid = must("fork", fork());

		if (pid == 0) {
			run_seed(atoi(argv[4]), seed % atoi(argv[5]) == 0);
			_exit(0);
		}
		must("wait", waitpid(pid, &status, 0));
		if (status) {
			say("WRONG: seed %d: %s", seed, describe(status));
			return 1;
		}
	}
	say("seeds %s to %s", argv[2], argv[3]);
	return 0;
}
