// The correct state of the processes of a random tree: parents, groups, sessions, stops and ends,
// by the rules of the kernel (credentials(7), wait(2), and kernel/exit.c for orphaned groups).

enum life { GONE, RUNNING, STOPPED, ZOMBIE };

enum { INIT = -1 }; // as a parent

struct process {
	enum life life;
	pid_t pid, pgid, sid, uid;
	int parent; // slot, or INIT
	int name;   // in NAMES
	int status; // of a stopped process or a zombie
	int fd;     // pidfd; -1: none
	int ending; // signals have no effect on it any more; it will end with status
	int execed; // since its birth
	int subreaper, ignores_children, deathsig;
	int stop_untold, continue_untold;
	unsigned pending; // bits of deadly signals that a stopped process has
	int usr1_pending;
	int must_answer; // before anything else: what it is sent counts when it takes it
	int usr1_low, usr1_high; // how often SIGUSR1 has been caught, at least and at most: one
				 // that comes before another is taken is not counted
};

// model[0] is the process that directs all others, and is never changed by them.
static struct process model[SLOTS];

// deaths counts the deaths in one step. The order of several is the kernel's choice.
static int deaths;

static void signal_process(int p, int sig);

static pid_t pid_of(int p)
{
	return p == INIT ? 1 : model[p].pid;
}

static int group_exists(pid_t pgid)
{
	for (int p = 0; p < SLOTS; p++)
		if (model[p].life != GONE && model[p].pgid == pgid)
			return 1;
	return 0;
}

// connects reports whether a process keeps its group from being orphaned: its parent is in the same
// session, in another group.
static int connects(int p)
{
	int parent = model[p].parent;

	return p != 0 && model[p].life != ZOMBIE && parent != INIT && model[parent].pgid != model[p].pgid &&
	       model[parent].sid == model[p].sid;
}

static int group_orphaned(pid_t pgid, int without)
{
	for (int p = 0; p < SLOTS; p++)
		if (p != without && model[p].life != GONE && model[p].pgid == pgid && connects(p))
			return 0;
	return 1;
}

// hang_up sends SIGHUP and SIGCONT to a group that is orphaned by the end of a process, if it has
// stopped members.
static void hang_up(pid_t pgid, pid_t sid, int parent, int without)
{
	int stopped = 0, members[SLOTS];

	if (parent == INIT || model[parent].pgid == pgid || model[parent].sid != sid || !group_orphaned(pgid, without))
		return;
	for (int p = 0; p < SLOTS; p++) {
		members[p] = model[p].life != GONE && model[p].pgid == pgid;
		stopped |= members[p] && model[p].life == STOPPED;
	}
	for (int p = 0; stopped && p < SLOTS; p++)
		if (members[p])
			signal_process(p, SIGHUP);
	for (int p = 0; stopped && p < SLOTS; p++)
		if (members[p])
			signal_process(p, SIGCONT);
}

static int adopter_of_children(int p)
{
	for (int up = model[p].parent; up != INIT; up = model[up].parent)
		if (model[up].subreaper)
			return up;
	return INIT;
}

// buried reports whether no process will wait for a child of this parent.
static int buried(int parent)
{
	return parent == INIT || model[parent].ignores_children;
}

static int may_signal(int from, int to, int sig)
{
	return model[from].uid == 0 || model[from].uid == model[to].uid ||
	       (sig == SIGCONT && model[from].sid == model[to].sid);
}

// parent_ended sends a child the signal that it has asked for. The parent is the sender, and may
// lack the permission.
static void parent_ended(int parent, int child)
{
	if (model[child].deathsig && may_signal(parent, child, model[child].deathsig))
		signal_process(child, model[child].deathsig);
}

// orphan gives the children of a process that ends to their new parent.
static void orphan(int p)
{
	int adopter = adopter_of_children(p);

	for (int c = 0; c < SLOTS; c++) {
		if (c == 0 || model[c].life == GONE || model[c].parent != p)
			continue;
		model[c].parent = adopter;
		if (model[c].life == ZOMBIE && buried(adopter))
			model[c].life = GONE;
		parent_ended(p, c);
		hang_up(model[c].pgid, model[c].sid, p, -1);
	}
}

// doom marks a process that a signal ends. It ends when the signal has been sent to all receivers
// (run_ends).
static void doom(int p, int status)
{
	struct process *m = &model[p];

	m->life = RUNNING; // not stopped any more
	m->stop_untold = m->continue_untold = 0;
	m->ending = 1;
	m->status = status;
}

static void end_process(int p)
{
	deaths++;
	orphan(p);
	hang_up(model[p].pgid, model[p].sid, model[p].parent, p);
	model[p].life = buried(model[p].parent) ? GONE : ZOMBIE;
}

static void run_ends(void)
{
	for (int p = 1; p < SLOTS; p++)
		if (model[p].life == RUNNING && model[p].ending) {
			end_process(p);
			p = 0;
		}
}

static void stop_process(int p, int sig)
{
	if (model[p].life != RUNNING)
		return;
	if (sig != SIGSTOP && group_orphaned(model[p].pgid, -1)) {
		model[p].must_answer = 1;
		return;
	}
	model[p].life = STOPPED;
	model[p].status = sig << 8 | 0x7f;
	model[p].stop_untold = 1;
	model[p].continue_untold = 0;
}

static void continue_process(int p)
{
	if (model[p].life != STOPPED)
		return;
	model[p].life = RUNNING;
	model[p].stop_untold = 0;
	model[p].continue_untold = 1;
	for (int sig = 1; sig < 32; sig++)
		if (model[p].pending & 1u << sig) {
			doom(p, sig);
			return;
		}
	if (model[p].usr1_pending)
		signal_process(p, SIGUSR1);
	model[p].usr1_pending = 0;
}

static void signal_process(int p, int sig)
{
	struct process *m = &model[p];

	if (p == 0 || m->life == ZOMBIE || m->life == GONE || m->ending)
		return;
	switch (sig) {
	case SIGKILL:
		doom(p, sig);
		break;
	case SIGTERM:
	case SIGHUP:
		if (m->life == STOPPED)
			m->pending |= 1u << sig;
		else
			doom(p, sig);
		break;
	case SIGSTOP:
	case SIGTSTP:
		stop_process(p, sig);
		break;
	case SIGCONT:
		continue_process(p);
		break;
	case SIGUSR1:
		if (m->life == STOPPED) {
			m->usr1_pending = 1;
		} else {
			m->usr1_low += m->usr1_low == m->usr1_high;
			m->usr1_high++;
		}
	}
}

// expect_kill returns the error of a kill and applies its effects to the model.
static int expect_kill(int from, int target, int sig)
{
	int found = 0, allowed = 0, hit[SLOTS];

	for (int p = 0; p < SLOTS; p++) {
		hit[p] = model[p].life != GONE && (target > 0 ? model[p].pid == target : model[p].pgid == -target);
		found |= hit[p];
		hit[p] = hit[p] && may_signal(from, p, sig);
		allowed |= hit[p];
	}
	if (!allowed)
		return found ? EPERM : ESRCH;
	for (int p = 0; p < SLOTS; p++)
		if (hit[p])
			signal_process(p, sig);
	run_ends();
	return 0;
}

static int slot_of(pid_t pid)
{
	for (int p = 0; p < SLOTS; p++)
		if (model[p].life != GONE && model[p].pid == pid)
			return p;
	return -1;
}

// expect_setpgid follows the order of the checks in kernel/sys.c.
static int expect_setpgid(int from, pid_t pid, pid_t pgid)
{
	int p = slot_of(pid ? pid : model[from].pid), in = -1;

	if (pgid < 0)
		return EINVAL;
	if (p < 0)
		return ESRCH;
	if (p != 0 && model[p].parent == from) {
		if (model[p].sid != model[from].sid)
			return EPERM;
		if (model[p].execed)
			return EACCES;
	} else if (p != from) {
		return ESRCH;
	}
	if (model[p].sid == model[p].pid)
		return EPERM;
	if (pgid == 0)
		pgid = model[p].pid;
	for (int q = 0; q < SLOTS; q++)
		if (model[q].life != GONE && model[q].pgid == pgid)
			in = q;
	if (pgid != model[p].pid && (in < 0 || model[in].sid != model[from].sid))
		return EPERM;
	model[p].pgid = pgid;
	return 0;
}

static int expect_setsid(int p)
{
	if (model[p].sid == model[p].pid || group_exists(model[p].pid))
		return EPERM;
	model[p].sid = model[p].pgid = model[p].pid;
	return 0;
}

// matches reports whether a wait for target selects a child.
static int matches(int waiter, int child, int target)
{
	if (child == 0 || model[child].life == GONE || model[child].parent != waiter)
		return 0;
	if (target == 0)
		return model[child].pgid == model[waiter].pgid;
	return target == -1 || model[child].pid == target || model[child].pgid == -target;
}

// news returns the status that a wait with these options would return for a child; -1 if none.
static int news(int child, int options)
{
	if (model[child].life == ZOMBIE)
		return model[child].status;
	if (model[child].life == STOPPED && model[child].stop_untold && options & WUNTRACED)
		return model[child].status;
	if (model[child].continue_untold && options & WCONTINUED)
		return 0xffff;
	return -1;
}
