// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Births, execs, ends, stops and continues of the processes of one PID namespace, as
// records of a ring buffer. See ../doc.go for what a record means and why the order
// of the records is the order in which things happened. Kernel 5.10 or newer.

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "../../../internal/bpf/kernel.h"
#include "../../../internal/bpf/space.h"
#include "records.h"
#include "stops.h"

static __always_inline void describe(struct record *r, struct task_struct *task, const struct where *at)
{
	r->pgid = number_of(task, PGID, at);
	r->sid = number_of(task, SID, at);
	r->user.real = BPF_CORE_READ(task, real_cred, uid.val);
	r->user.effective = BPF_CORE_READ(task, real_cred, euid.val);
	r->user.saved = BPF_CORE_READ(task, real_cred, suid.val);
	r->group.real = BPF_CORE_READ(task, real_cred, gid.val);
	r->group.effective = BPF_CORE_READ(task, real_cred, egid.val);
	r->group.saved = BPF_CORE_READ(task, real_cred, sgid.val);
}

// watch_cursor gives notice, once for each time it is armed, that the kernel has
// come to a number. Two processors at once may both give it. It is never lost:
// the generation that is stored is the one that was seen, so arming anew between
// the two lines is not undone.
static __always_inline void watch_cursor(struct control *c, __u32 nr)
{
	__u64 arm = *(volatile __u64 *)&c->arm;

	if (!arm || nr < (__u32)arm || c->given == arm >> 32)
		return;
	if (notice(CURSOR_LOW, nr, 0))
		*(volatile __u64 *)&c->given = arm >> 32;
}

static __always_inline bool within(__u64 range, __u32 nr)
{
	return nr >= (__u32)(range >> 32) && nr < (__u32)range;
}

#define max_gap 8192             // pidmap.MaxGap
#define linger_time 500000       // nanoseconds
#define last_linger_time 4000000 // in the last part of a gap, and beyond it

struct wait {
	__u64 begin, nanoseconds;
};

static long is_over(__u32 i, void *arg)
{
	struct wait *w = arg;

	return bpf_ktime_get_ns() - w->begin > w->nanoseconds;
}

// linger holds up who forks, so that the cursor is moved before the numbers of the gap are used up,
// also where who moves it has no processor for a while. It needs Linux 5.17.
static __always_inline void linger(__u64 nanoseconds)
{
	struct wait w = { .begin = bpf_ktime_get_ns(), .nanoseconds = nanoseconds };

	bpf_loop(1 << 20, is_over, &w, 0);
}

// linger_bounded is linger for older kernels: less than half a millisecond. The verifier follows
// each step of the loop, and 8,192 branches at most.
static __always_inline void linger_bounded(__u64 nanoseconds)
{
	__u64 begin = bpf_ktime_get_ns();

	for (int i = 0; i < 1024; i++) {
		for (int j = 0; j < 16; j++)
			bpf_ktime_get_ns();
		if (bpf_ktime_get_ns() - begin > nanoseconds)
			break;
	}
}

// hold_up makes the forks of the gap at the end of a range slow, and those of its last quarter very
// slow, and so those of numbers that are not of the range.
static __always_inline void hold_up(__u64 range, __u32 nr, bool bounded)
{
	__u32 first = range >> 32, end = range, gap = (end - first) / 4;
	__u64 time;

	gap = gap < max_gap ? gap : max_gap;
	if (nr >= first && nr < end - gap)
		return;
	time = nr >= first && nr < end - gap / 4 ? linger_time : last_linger_time;
	if (bounded)
		linger_bounded(time);
	else
		linger(time);
}

// watch_number gives notice of a task whose number is none of those that may be given.
// Those below the node zone init gives, with helpers that have such numbers themselves;
// when another process makes one, the kernel's cursor has run round, or somebody has
// chosen it.
static __always_inline void watch_number(struct control *c, struct task_struct *child, __u32 nr, __u32 creator, const struct where *at, bool bounded)
{
	__u64 now = *(volatile __u64 *)&c->ours[0], before = *(volatile __u64 *)&c->ours[1];

	if (!now)
		return;
	if (within(now, nr))
		*(volatile __u64 *)&c->last = nr;
	else if (!within(before, nr) && (nr >= front_end || creator >= front_end))
		notice(STRAY, nr, number_of(child, TGID, at));
	if (nr >= front_end)
		hold_up(now, nr, bounded);
}

static __always_inline int forked(struct bpf_raw_tracepoint_args *ctx, bool bounded)
{
	struct task_struct *creator = (void *)ctx->args[0];
	struct task_struct *child = (void *)ctx->args[1];
	struct control *c = control();
	struct where at;
	struct record *r;
	__u32 nr, by;

	if (!in_space(child, &at))
		return 0;
	nr = number(BPF_CORE_READ(child, thread_pid), &at);
	by = number_of(creator, TGID, &at);
	if (c) {
		watch_cursor(c, nr);
		watch_number(c, child, nr, by, &at, bounded);
	}
	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		return 0; // a thread
	if (nr < front_end)
		return 0; // started by init, which says so itself
	r = reserve(FORKED, nr);
	if (!r)
		return 0;
	r->parent = number_of(BPF_CORE_READ(child, real_parent), TGID, &at);
	r->creator = by;
	describe(r, child, &at);
	bpf_ringbuf_submit(r, 0); // it has not been reported
	return 0;
}

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	return forked(ctx, false);
}

// on_fork_old is on_fork for kernels that have no bpf_loop.
SEC("raw_tp/sched_process_fork")
int on_fork_old(struct bpf_raw_tracepoint_args *ctx)
{
	return forked(ctx, true);
}

// When this runs the task is the leader of its group, whichever thread called
// execve.
SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct where at;
	struct record *r;

	if (!in_space(task, &at))
		return 0;
	r = reserve(EXECED, number_of(task, TGID, &at));
	if (!r)
		return 0;
	describe(r, task, &at);
	commit(r, task);
	return 0;
}

// Runs for each thread, after the kernel has counted it out. Two that end at once
// may both see that none is left, so a process can have two of these records;
// both come before its parent can wait for it, and so before its number is used
// again. If the leader is the other one and the group was not ended as a whole
// (each thread called exit by itself), the first may miss the leader's code.
SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct where at;
	struct record *r;
	__u32 nr;

	if (!in_space(task, &at))
		return 0;
	if (BPF_CORE_READ(signal, live.counter) != 0) {
		note_stop(task, &at); // it may have been the last that was not stopped
		return 0;
	}
	nr = number_of(task, TGID, &at);
	if (nr < front_end)
		return 0; // init waits for it and says so
	r = reserve(EXITED, nr);
	if (!r)
		return 0;
	if (BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT)
		r->status = BPF_CORE_READ(signal, group_exit_code);
	else
		r->status = BPF_CORE_READ(task, group_leader, exit_code);
	commit(r, task);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
