// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Stops and continues of whole processes (kernel/signal.c, do_signal_stop).
//
// The last thread to stop sets SIGNAL_STOP_STOPPED under the lock of the process's
// signals, from when on wait(2) shows the stop, then sends the parent SIGCHLD, unless
// the parent does not want that (SA_NOCLDSTOP), wakes it, and leaves the processor.
// SIGCONT clears the flag under the same lock. So a stop is noted where the parent
// is sent SIGCHLD, before it can have been woken; and, for parents without SIGCHLD,
// where a stopped thread leaves the processor or ends. What is noted more than
// once is the reader's to sort out.
//
// Only what is true is noted, and in the right order. The flag is read after the
// record was reserved: a continue that clears it later is reserved later; one that has
// cleared it before makes the record worthless, and it is discarded. A continue is
// noted under the lock, before the process can do anything, and before the next stop.

static __always_inline void note_stop(struct task_struct *task, const struct where *at)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct record *r;

	if (!(BPF_CORE_READ(signal, flags) & SIGNAL_STOP_STOPPED))
		return; // nor when it is read again, or another thread will note it
	r = reserve(STOPPED, number_of(task, TGID, at));
	if (!r)
		return;
	if (!(BPF_CORE_READ(signal, flags) & SIGNAL_STOP_STOPPED)) {
		bpf_ringbuf_discard(r, 0); // wakes the reader: the next record would not
		return;
	}
	// Not signal->group_exit_code, which wait(2) clears.
	r->status = BPF_CORE_READ(task, jobctl) & JOBCTL_STOP_SIGMASK;
	commit(r, task);
}

// Runs in the process whose parent is told.
static __always_inline void on_sigchld(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct where at;

	if ((BPF_CORE_READ(task, signal, flags) & SIGNAL_STOP_STOPPED) && in_space(task, &at))
		note_stop(task, &at);
}

static __always_inline void on_sigcont(struct task_struct *task)
{
	struct where at;
	struct record *r;

	if (!(BPF_CORE_READ(task, signal, flags) & SIGNAL_CLD_CONTINUED) || !in_space(task, &at))
		return;
	r = reserve(CONTINUED, number_of(task, TGID, &at));
	if (r)
		commit(r, task);
}

// The kernel has done what SIGCONT does before this runs, whether or not the signal is
// ignored or blocked.
SEC("raw_tp/signal_generate")
int on_signal(struct bpf_raw_tracepoint_args *ctx)
{
	switch ((int)ctx->args[0]) {
	case SIGCHLD:
		on_sigchld();
		break;
	case SIGCONT:
		on_sigcont((void *)ctx->args[2]);
		break;
	}
	return 0;
}

// Runs whenever a processor goes from one thread to another, anywhere on the machine:
// so this is a program that may read the kernel's memory by plain loads, and it looks
// at the one thing first. A traced process stops as a whole, too, in another state.
SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[1];
	struct where at;
	__u32 state;

	if (bpf_core_field_exists(task->__state))
		state = task->__state;
	else
		state = ((struct task_struct___before_5_14 *)task)->state;
	if ((state & TASK_STOPPED_OR_TRACED) && in_space(task, &at))
		note_stop(task, &at);
	return 0;
}
