// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Records of the space, and the ring buffers in which they wait for their reader.

enum kind {
	FORKED = 1, EXECED = 2, EXITED = 3, STOPPED = 5, CONTINUED = 6,
	CURSOR_LOW = 4, STRAY = 7, FILLING = 8, // these are notices
};

// Credentials, in the initial user namespace.
struct ids {
	__u32 real;
	__u32 effective;
	__u32 saved;
};

// Everything is a number of the namespace; 0: outside of it.
struct record {
	__u32 kind;
	__u32 pid;     // CURSOR_LOW, STRAY: the number of the new task
	__u32 parent;  // FORKED; STRAY: the process of the new task
	__u32 creator; // FORKED: who called clone; another than the parent with CLONE_PARENT
	__u32 pgid;    // FORKED, EXECED
	__u32 sid;     // FORKED, EXECED
	__u32 status;  // EXITED: as wait4(2) gives it; STOPPED: the signal
	struct ids user, group; // FORKED, EXECED
};

// Shared with the reader by mmap(2). Each field has one writer.
struct control {
	__u64 arm;   // reader: generation << 32 | number from which on CURSOR_LOW is to be given; 0: never
	__u64 given; // here: generation for which it has been given
	__u64 lost;  // here: records for which the ring had no room
	__u64 room;  // reader: generation; FILLING is to be given
	__u64 filled; // here: generation for which it has been given
	__u64 last;  // here: the number of ours[0] that was given last; reader: 0
	__u64 ours[2]; // reader: first << 32 | end of numbers that may be given; 0: not known
	__u64 told;    // reader: processes that started up to then have been reported (CLOCK_BOOTTIME, nanoseconds)
	__u64 urgent;  // here: records of those
	__u64 waiting; // reader: 1: it waits for these alone
};

struct record *unused_record __attribute__((unused)); // keeps the type in the object's BTF

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); // set by the loader
} ring SEC(".maps");

// Notices, which must not wait behind records, nor be lost with them.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); // set by the loader
} notices SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} controls SEC(".maps");

volatile const __u32 front_end = 0; // numbers below are given by the front end, set by the loader
volatile const __u32 plenty = 0;    // bytes in the ring for which FILLING is given, set by the loader
volatile const __u32 most = 0;      // and beyond which there is room for ends only

static __always_inline struct control *control(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&controls, &first);
}

static __always_inline bool notice(enum kind kind, __u32 pid, __u32 process)
{
	struct record *r = bpf_ringbuf_reserve(&notices, sizeof(*r), 0);

	if (!r)
		return false;
	*r = (struct record){.kind = kind, .pid = pid, .parent = process};
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return true;
}

// watch_room gives notice that the reader does not follow, while there is still room.
static __always_inline void watch_room(__u64 held)
{
	struct control *c = control();
	__u64 room;

	if (!c)
		return;
	room = *(volatile __u64 *)&c->room;
	if (c->filled == room || held < plenty)
		return;
	if (notice(FILLING, 0, 0))
		*(volatile __u64 *)&c->filled = room;
}

// Other lost records can be made up for by a look at the processes; an end is seen only by
// the process that waits for it, once. So the last of the room is for ends.
//
// Since Linux 6.15 it may be for another reason that nothing could be reserved: a processor
// was not let into the ring within a quarter of a second, since the one before it was not
// running (a virtual one; asm-generic/rqspinlock.h). It is tried once more then.
static __always_inline struct record *reserve(enum kind kind, __u32 pid)
{
	__u64 held = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	struct record *r = 0;

	if (held < most || kind == EXITED)
		r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r && held < most)
		r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		struct control *c = control();

		if (c)
			__sync_fetch_and_add(&c->lost, 1);
		return 0;
	}
	*r = (struct record){.kind = kind, .pid = pid};
	watch_room(held);
	return r;
}

// Without flags a commit wakes the reader if and only if it has released everything before this
// record. A reader that keeps records will come by itself, but for a process that has been reported
// it is woken.
static __always_inline void commit(struct record *r, struct task_struct *task)
{
	struct control *c = control();
	__u64 flags = 0;

	if (c && BPF_CORE_READ(task, group_leader, start_boottime) <= *(volatile __u64 *)&c->told) {
		__sync_fetch_and_add(&c->urgent, 1); // before waiting is read, see Source.Wait
		if (*(volatile __u64 *)&c->waiting)
			flags = BPF_RB_FORCE_WAKEUP;
	}
	bpf_ringbuf_submit(r, flags);
}
