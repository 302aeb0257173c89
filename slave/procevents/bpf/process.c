// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Births, execs and ends of the processes of one PID namespace, as records of a
// ring buffer. See ../doc.go for what a record means and why the order of the
// records is the order in which things happened.
//
// Kernel 5.10 or newer. The structs below name the few fields that are read;
// where they are in the running kernel is found when the program is loaded
// (CO-RE), so nothing here depends on a version or an architecture.

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define CORE __attribute__((preserve_access_index))

struct pid_namespace;

struct ns_common {
	unsigned int inum;
} CORE;

struct pid_namespace {
	struct ns_common ns;
} CORE;

struct upid {
	int nr;
	struct pid_namespace *ns;
} CORE;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} CORE;

typedef struct {
	int counter;
} atomic_t;

// enum pid_type, since Linux 4.19.
enum { TGID = 1, PGID = 2, SID = 3, PIDTYPES = 4 };

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
	struct pid *pids[PIDTYPES];
} CORE;

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t uid;
} CORE;

struct task_struct {
	int pid;
	int tgid;
	int exit_code;
	struct pid *thread_pid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	const struct cred *real_cred;
} CORE;

#define SIGNAL_GROUP_EXIT 0x4 // include/linux/sched/signal.h
#define MAX_PID_NS_LEVEL 32   // include/linux/pid_namespace.h

enum kind { FORKED = 1, EXECED = 2, EXITED = 3, CURSOR_LOW = 4 };

// Everything is a number of the namespace; 0: outside of it.
struct record {
	__u32 kind;
	__u32 pid;     // CURSOR_LOW: the number of the new task
	__u32 parent;  // FORKED
	__u32 creator; // FORKED: who called clone; another than the parent with CLONE_PARENT
	__u32 pgid;    // FORKED, EXECED
	__u32 sid;     // FORKED, EXECED
	__u32 status;  // EXITED: as wait4(2) gives it
	__u32 uid;     // FORKED, EXECED: in the initial user namespace
};

// Shared with the reader by mmap(2). Each field has one writer.
struct control {
	__u64 arm;   // reader: generation << 32 | number from which on CURSOR_LOW is to be given; 0: never
	__u64 given; // here: generation for which it has been given
	__u64 lost;  // here: records for which the ring had no room
};

struct record *unused_record __attribute__((unused)); // keeps the type in the object's BTF

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); // set by the loader
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} controls SEC(".maps");

volatile const __u32 space = 0;     // inode of the namespace, set by the loader
volatile const __u32 front_end = 0; // numbers below are given by the front end, set by the loader

// The space as a struct pid sees it: its address and its depth.
struct where {
	struct pid_namespace *ns;
	__u32 level;
};

static __always_inline struct upid *upid_at(struct pid *pid, __u32 level)
{
	// The array is [1] or [], by the kernel's version; its elements are what they are.
	return (struct upid *)((char *)__builtin_preserve_access_index(&pid->numbers) + level * sizeof(struct upid));
}

// in_space tells whether the task is in the space or in a namespace below it. For
// tasks of the host's own namespace that takes two reads.
static __always_inline bool in_space(struct task_struct *task, struct where *at)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 deepest = BPF_CORE_READ(pid, level);

	for (__u32 level = 1; level <= MAX_PID_NS_LEVEL && level <= deepest; level++) {
		struct pid_namespace *ns = BPF_CORE_READ(upid_at(pid, level), ns);

		if (BPF_CORE_READ(ns, ns.inum) == space) {
			at->ns = ns;
			at->level = level;
			return true;
		}
	}
	return false;
}

// number is what the space calls pid.
static __always_inline __u32 number(struct pid *pid, const struct where *at)
{
	struct upid *upid;

	if (!pid || BPF_CORE_READ(pid, level) < at->level)
		return 0;
	upid = upid_at(pid, at->level);
	if (BPF_CORE_READ(upid, ns) != at->ns)
		return 0;
	return BPF_CORE_READ(upid, nr);
}

static __always_inline __u32 number_of(struct task_struct *task, int type, const struct where *at)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct pid **pids = (void *)__builtin_preserve_access_index(&signal->pids);
	struct pid *pid = 0;

	bpf_probe_read_kernel(&pid, sizeof(pid), pids + type);
	return number(pid, at);
}

static __always_inline struct control *control(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&controls, &first);
}

static __always_inline struct record *reserve(enum kind kind, __u32 pid)
{
	struct record *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r) {
		struct control *c = control();

		if (c)
			__sync_fetch_and_add(&c->lost, 1);
		return 0;
	}
	*r = (struct record){.kind = kind, .pid = pid};
	return r;
}

// Without flags a commit wakes the reader if and only if it has read everything
// before this record: one that is behind will come by itself.
static __always_inline void commit(struct record *r)
{
	bpf_ringbuf_submit(r, 0);
}

static __always_inline void describe(struct record *r, struct task_struct *task, const struct where *at)
{
	r->pgid = number_of(task, PGID, at);
	r->sid = number_of(task, SID, at);
	r->uid = BPF_CORE_READ(task, real_cred, uid.val);
}

// watch_cursor gives notice, once for each time it is armed, that the kernel has
// come to a number. Two processors at once may both give it. It is never lost:
// the generation that is stored is the one that was seen, so arming anew between
// the two lines is not undone.
static __always_inline void watch_cursor(__u32 nr)
{
	struct control *c = control();
	struct record *r;
	__u64 arm;

	if (!c)
		return;
	arm = *(volatile __u64 *)&c->arm;
	if (!arm || nr < (__u32)arm || c->given == arm >> 32)
		return;
	r = reserve(CURSOR_LOW, nr);
	if (!r)
		return;
	*(volatile __u64 *)&c->given = arm >> 32;
	commit(r);
}

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *creator = (void *)ctx->args[0];
	struct task_struct *child = (void *)ctx->args[1];
	struct where at;
	struct record *r;
	__u32 nr;

	if (!in_space(child, &at))
		return 0;
	nr = number(BPF_CORE_READ(child, thread_pid), &at);
	watch_cursor(nr);
	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		return 0; // a thread
	if (nr < front_end)
		return 0; // started by init, which says so itself
	r = reserve(FORKED, nr);
	if (!r)
		return 0;
	r->parent = number_of(BPF_CORE_READ(child, real_parent), TGID, &at);
	r->creator = number_of(creator, TGID, &at);
	describe(r, child, &at);
	commit(r);
	return 0;
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
	commit(r);
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

	if (!in_space(task, &at) || BPF_CORE_READ(signal, live.counter) != 0)
		return 0;
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
	commit(r);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
