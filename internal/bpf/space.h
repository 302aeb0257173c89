// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// The process space, and what its processes are called in it.

volatile const __u32 space = 0; // inode of the namespace, set by the loader

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
	__u32 deepest = BPF_CORE_READ(pid, level); // 0 of no pid: a task that is gone has none

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
	upid = upid_at(pid, at->level); // apart: what is within a CORE_READ is taken for the kernel's
	if (BPF_CORE_READ(upid, ns) != at->ns)
		return 0;
	return BPF_CORE_READ(upid, nr);
}

// pid_of is the pid of the task's process, group or session.
static __always_inline struct pid *pid_of(struct task_struct *task, int type)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct pid **pids = (void *)__builtin_preserve_access_index(&signal->pids);
	struct pid *pid = 0;

	bpf_probe_read_kernel(&pid, sizeof(pid), pids + type);
	return pid;
}

static __always_inline __u32 number_of(struct task_struct *task, int type, const struct where *at)
{
	return number(pid_of(task, type), at);
}
