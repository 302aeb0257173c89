// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Notes of each signal that kill(2) sends to a process group: when that was last. The signal itself does not say
// that it was for a group (sigaction(2)). Kernel 5.10 or newer.

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "../../../../internal/bpf/kernel.h"
#include "../../../../internal/bpf/space.h"

struct kill {
	__u32 group;  // number of the namespace
	__u32 signal;
	__u32 sender; // as receivers see it; 0: outside of the namespace
};

struct kill *unused_kill __attribute__((unused)); // keeps the type in the object's BTF

// When, in nanoseconds from boot. Old entries make room for new ones.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct kill);
	__type(value, __u64);
} kills SEC(".maps");

// The beginning of struct kernel_siginfo of a signal of kill(2), the same on all 64-bit machines
// (asm-generic/siginfo.h).
struct info {
	int signal;
	int error;
	int code;
	int pad;
	int sender; // as it sees itself
};

#define SI_USER 0

// visible returns what the namespace calls pid; 0: it does not see it.
static __always_inline __u32 visible(struct pid *pid)
{
	__u32 deepest = BPF_CORE_READ(pid, level);

	for (__u32 level = 0; level <= MAX_PID_NS_LEVEL && level <= deepest; level++) {
		struct upid *upid = upid_at(pid, level);

		if (BPF_CORE_READ(upid, ns, ns.inum) == space)
			return BPF_CORE_READ(upid, nr);
	}
	return 0;
}

// What of the registers of a system call tells its number and its first argument: on amd64, and on arm64.
struct pt_regs {
	unsigned long di;
	unsigned long orig_ax;
	unsigned long orig_x0;
	int syscallno;
} CORE;

struct task_struct___with_stack {
	void *stack;
} CORE;

#define KILL_AMD64 62
#define KILL_ARM64 129
#define THREAD_SIZE 16384 // with pages of 4 or 16 KiB, unless the kernel is made for finding bugs in it

// to_group tells whether registers are those of kill(2) for a process group. Another system call or one of a 32-bit
// program is none.
static __always_inline bool to_group(struct pt_regs *regs)
{
	int to;

	if (bpf_core_field_exists(regs->orig_ax)) {
		if (BPF_CORE_READ(regs, orig_ax) != KILL_AMD64)
			return false;
		to = BPF_CORE_READ(regs, di);
	} else {
		if (BPF_CORE_READ(regs, syscallno) != KILL_ARM64)
			return false;
		to = BPF_CORE_READ(regs, orig_x0);
	}
	return to == 0 || to < -1;
}

static __always_inline int note(struct bpf_raw_tracepoint_args *ctx, struct pt_regs *regs)
{
	struct kill kill = {.signal = ctx->args[0]};
	struct info info;
	__u64 now;

	if (ctx->args[1] <= 1) // from the kernel: SEND_SIG_NOINFO, SEND_SIG_PRIV
		return 0;
	if (bpf_probe_read_kernel(&info, sizeof(info), (void *)ctx->args[1]) || info.code != SI_USER || !to_group(regs))
		return 0;
	kill.group = visible(pid_of((void *)ctx->args[2], PGID));
	if (!kill.group)
		return 0;
	if (visible(pid_of((void *)bpf_get_current_task(), TGID)))
		kill.sender = info.sender;
	now = bpf_ktime_get_boot_ns();
	bpf_map_update_elem(&kills, &kill, &now, BPF_ANY);
	return 0;
}

// Runs in the sender, for each process of the group, under the lock without which that cannot take the signal.
SEC("raw_tp/signal_generate")
int on_signal(struct bpf_raw_tracepoint_args *ctx)
{
	return note(ctx, (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf()));
}

// on_signal_old is on_signal for kernels before 5.15.
SEC("raw_tp/signal_generate")
int on_signal_old(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct___with_stack *task = (void *)bpf_get_current_task();

	return note(ctx, BPF_CORE_READ(task, stack) + THREAD_SIZE - bpf_core_type_size(struct pt_regs));
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
