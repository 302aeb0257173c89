// The steps by which a random tree grows.

static int free_slot(void)
{
	for (int p = 1; p < SLOTS; p++)
		if (model[p].life == GONE && model[p].fd < 0)
			return p;
	return -1;
}

static void birth_step(int a)
{
	int p = free_slot(), how = pick(BIRTHS), from = a;

	if (p < 0)
		return;
	if (how == BY_CLONE_PARENT && a == 0)
		how = BY_FORK;
	atomic_store(&shared->slot[p].usr1, 0);
	atomic_store(&shared->slot[p].done, 0);
	atomic_store(&shared->slot[p].asked, 1);
	note("%d: %d makes slot %d by %d", step, model[a].pid, p, how);
	struct slot *s = tell(a, FORK, how, p);
	want(s->result > 0, "fork: error %d", s->error);
	settled[p] = RUNNING;
	model[p] = model[a];
	model[p].pid = s->result;
	answered(p);
	want(shared->slot[p].pid == s->result, "a child is %d, its parent got %d", shared->slot[p].pid, s->result);
	if (how == BY_CLONE_PARENT)
		from = model[a].parent;
	model[p].parent = from;
	model[p].execed = how == BY_VFORK_EXEC || how == BY_SPAWN;
	if (model[p].execed)
		model[p].name = 1;
	model[p].subreaper = model[p].deathsig = model[p].usr1_low = model[p].usr1_high = 0;
	model[p].stop_untold = model[p].continue_untold = 0;
	model[p].fd = syscall(SYS_pidfd_open, s->result, 0);
	want(model[p].fd >= 0, "pidfd_open of %d: %s", s->result, strerrorname_np(errno));
}

static void exec_step(int a)
{
	int name = pick(4), in_thread = pick(3) == 0;

	if (a == 0)
		return;
	note("%d: %d execs %s%s", step, model[a].pid, NAMES[name], in_thread ? " in a thread" : "");
	tell(a, EXEC, name, in_thread);
	model[a].name = name;
	model[a].execed = 1;
	// The first thread ends, and that counts as the end of a parent (prctl(2)). Its own setting
	// ends with it.
	for (int p = 1; in_thread && p < SLOTS; p++)
		if (model[p].life != GONE && model[p].parent == a)
			parent_ended(a, p);
	if (in_thread)
		model[a].deathsig = 0;
	run_ends();
}

static void exit_step(int a)
{
	int code = pick(256), in_thread = pick(3) == 0;

	if (a == 0)
		return;
	note("%d: %d exits with %d%s", step, model[a].pid, code, in_thread ? " in a thread" : "");
	for (int p = 1; in_thread && p < SLOTS; p++) // each thread may be the last
		if (model[p].life != GONE && model[p].parent == a && model[p].deathsig == SIGUSR1)
			model[p].usr1_high++;
	tell(a, EXIT, code, in_thread);
	doom(a, code << 8);
	run_ends();
}

static void setpgid_step(int a)
{
	int p = pick(2) ? a : any_there(), q = any_there();
	pid_t pid, pgid;

	if (a == 0 && (p == a || p < 0))
		return;
	pid = p == a && pick(2) ? 0 : p < 0 ? 0 : model[p].pid;
	pgid = pick(3) == 0 ? 0 : pick(4) == 0 ? model[0].pgid : q < 0 ? -1 : pick(2) ? model[q].pgid : model[q].pid;
	if (at_home && pgid == model[0].pgid && p >= 0 && model[p].life == STOPPED)
		return;
	note("%d: %d does setpgid(%d, %d)", step, model[a].pid, pid, pgid);
	struct slot *s = tell(a, SETPGID, pid, pgid);
	want_error(s, expect_setpgid(a, pid, pgid), "setpgid");
}

static void setsid_step(int a)
{
	if (a == 0)
		return;
	note("%d: %d does setsid", step, model[a].pid);
	struct slot *s = tell(a, SETSID, 0, 0);
	want_error(s, expect_setsid(a), "setsid");
}

static void kill_step(int a)
{
	static const int sigs[] = {0, SIGSTOP, SIGSTOP, SIGCONT, SIGCONT, SIGTSTP, SIGUSR1, SIGUSR1, SIGTERM, SIGKILL};
	int sig = sigs[pick(10)], p = any_there(), target;

	if (p < 0)
		return;
	target = model[p].pid;
	if (pick(4) == 0 && model[p].pgid != model[0].pgid)
		target = -model[p].pgid;
	if (pick(20) == 0)
		target = 0x7ffffff0;
	if (at_home && model[p].pgid == model[0].pgid && (sig == SIGSTOP || sig == SIGTSTP))
		return;
	note("%d: %d sends %d to %d", step, model[a].pid, sig, target);
	// A process that stops or ends itself does not answer.
	int self = target > 0 ? target == model[a].pid : -target == model[a].pgid;
	if (self && sig != 0 && sig != SIGUSR1)
		return;
	struct slot *s = tell(a, KILL, target, sig);
	int error = expect_kill(a, target, sig);
	if (s->error != NO_ANSWER)
		want_error(s, error, "kill");
}

static void wait_step(int a)
{
	static const int more[] = {0, WUNTRACED, WCONTINUED, WUNTRACED | WCONTINUED};
	int child = any_there(), options = more[pick(4)], by_waitid = pick(2), keep = 0, any_child = 0, told = 0;
	int target = -1;

	if (child >= 0)
		target = pick(3) ? model[child].pid : pick(2) ? -model[child].pgid : -1;
	if (!by_waitid && pick(6) == 0)
		target = 0;
	if (by_waitid && pick(3) == 0)
		keep = WNOWAIT;
	note("%d: %d waits for %d with %#x by wait%s", step, model[a].pid, target, options | keep, by_waitid ? "id" : "4");
	struct slot *s = tell(a, by_waitid ? WAITID : WAIT4, target, options | keep | (by_waitid ? 0 : WNOHANG));
	for (int p = 0; p < SLOTS; p++) {
		any_child |= matches(a, p, target);
		told |= matches(a, p, target) && news(p, options) >= 0;
	}
	want_error(s, any_child ? 0 : ECHILD, "wait");
	if (s->result <= 0) {
		want(!told, "wait finds nothing");
		return;
	}
	int p = slot_of(s->result);
	want(p > 0 && matches(a, p, target), "wait finds %d, which is no such child", s->result);
	want((s->status & 0xffff) == news(p, options), "wait tells %#x of %d, want %#x", s->status, s->result, news(p, options));
	if (keep)
		return;
	if (model[p].life == ZOMBIE)
		model[p].life = GONE;
	else if (s->status == 0xffff)
		model[p].continue_untold = 0;
	else
		model[p].stop_untold = 0;
}

static void trait_step(int a)
{
	static const int sigs[] = {0, SIGUSR1, SIGKILL};
	struct process *m = &model[a];
	int value = pick(2);

	switch (pick(4)) {
	case 0:
		if (a == 0)
			return;
		note("%d: %d subreaper %d", step, m->pid, value);
		tell(a, SUBREAPER, m->subreaper = value, 0);
		break;
	case 1:
		note("%d: %d ignores its children %d", step, m->pid, value);
		tell(a, IGNORE_CHILDREN, m->ignores_children = value, 0);
		break;
	case 2:
		if (a == 0)
			return;
		m->deathsig = sigs[pick(3)];
		note("%d: %d asks for %d when its parent ends", step, m->pid, m->deathsig);
		tell(a, DEATHSIG, m->deathsig, 0);
		break;
	default:
		if (a == 0 || m->uid != 0)
			return;
		m->uid = 12345 + value;
		m->deathsig = 0; // a change of user clears it (prctl(2))
		note("%d: %d becomes %d", step, m->pid, m->uid);
		want_error(tell(a, SETUID, m->uid, 0), 0, "setresuid");
	}
}

static void random_step(void)
{
	static void (*const steps[])(int) = {
		birth_step, birth_step, birth_step, birth_step, birth_step, birth_step,
		exec_step, exec_step, exit_step, setpgid_step, setpgid_step, setpgid_step, setsid_step,
		kill_step, kill_step, kill_step, kill_step, wait_step, wait_step, wait_step, trait_step, trait_step,
	};

	steps[pick(sizeof steps / sizeof steps[0])](actor());
}
