// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// A mark of each thread of one PID namespace: a number that is another one when
// anything has changed that /proc shows of it. All are made in one pass, without a
// file being opened. Kernel 5.10 or newer.

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "../../../../internal/bpf/kernel.h"
#include "../../../../internal/bpf/space.h"

struct mark {
	__u32 pid; // of the process, a number of the namespace
	__u32 tid;
	__u64 start; // nanoseconds from boot
	__u64 value;
	__u64 groups; // stands for its control groups; 0: not known
};

struct mark *unused_mark __attribute__((unused)); // keeps the type in the object's BTF

// mix adds a word to a hash: the multiplier is that of FNV-1a, the shift brings what it
// does to high bits down again.
static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x100000001b3ULL;
	return hash ^ hash >> 29;
}

static __always_inline __u64 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

// pages are the counters of memory: what a process has can also be taken from it.
static __always_inline __u64 pages(__u64 hash, struct mm_struct *mm)
{
	if (!mm)
		return hash;
	if (bpf_core_type_exists(struct mm_rss_stat)) {
		struct mm_struct___before_6_2 *old = (void *)mm;

		for (int i = 0; i < COUNTERS; i++)
			hash = mix(hash, BPF_CORE_READ(old, rss_stat.count[i]));
		return hash;
	}
	for (int i = 0; i < COUNTERS; i++)
		hash = mix(hash, BPF_CORE_READ(mm, rss_stat[i].count));
	return hash;
}

// value_of mixes what a thread does itself, all of which takes it time on a processor,
// with what others can do to it.
static __always_inline __u64 value_of(struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	__u64 name[2] = {};
	__u64 h = 0xcbf29ce484222325ULL;

	h = mix(h, BPF_CORE_READ(task, se.sum_exec_runtime));
	h = mix(h, BPF_CORE_READ(task, nvcsw));
	h = mix(h, BPF_CORE_READ(task, nivcsw));
	h = mix(h, state_of(task));
	h = mix(h, BPF_CORE_READ(task, exit_state));
	h = mix(h, BPF_CORE_READ(task, ptrace));
	h = mix(h, (__u64)BPF_CORE_READ(task, static_prio) << 32 | BPF_CORE_READ(task, policy));
	h = mix(h, BPF_CORE_READ(task, rt_priority));
	h = mix(h, BPF_CORE_READ(task, cpus_mask.bits[0]));
	h = mix(h, BPF_CORE_READ(task, pending.signal.sig[0]));
	h = mix(h, (__u64)BPF_CORE_READ(task, real_parent)); // the address stands for the process
	h = mix(h, (__u64)BPF_CORE_READ(task, parent));
	if (signal) {
		h = mix(h, BPF_CORE_READ(signal, shared_pending.signal.sig[0]));
		h = mix(h, (__u64)pid_of(task, PGID));
		h = mix(h, (__u64)pid_of(task, SID));
	}
	BPF_CORE_READ_INTO(&name, task, comm); // other threads can give it
	h = mix(mix(h, name[0]), name[1]);
	return pages(h, BPF_CORE_READ(task, mm));
}

// A task that shares the memory of the namespace's init is no remote process: init's own
// threads, stand-ins, and a process on its way to its first execve.
SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pid_namespace *ns;
	struct mark mark = {};
	struct mm_struct *mm;
	struct where at;

	if (!task || !in_space(task, &at))
		return 0;
	ns = at.ns; // apart, as in number
	mm = BPF_CORE_READ(task, mm);
	if (mm && mm == BPF_CORE_READ(ns, child_reaper, mm))
		return 0;
	mark.tid = number(BPF_CORE_READ(task, thread_pid), &at);
	mark.pid = number_of(task, TGID, &at);
	mark.start = BPF_CORE_READ(task, start_boottime);
	mark.value = value_of(task);
	if (bpf_core_field_exists(task->cgroups))
		mark.groups = (__u64)BPF_CORE_READ(task, cgroups); // the address stands for the set
	bpf_seq_write(ctx->meta->seq, &mark, sizeof(mark));
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
