// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// What is read of the kernel's types: the few fields that are used. Where they are in
// the running kernel is found when the program is loaded (CO-RE), so nothing here
// depends on a version or an architecture.

#define CORE __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} CORE;

struct pid_namespace {
	struct task_struct *child_reaper;
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

enum { TGID = 1, PGID = 2, SID = 3, PIDTYPES = 4 }; // enum pid_type, since Linux 4.19

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
} CORE;

struct signal_struct {
	atomic_t live;
	struct sigpending shared_pending;
	int group_exit_code;
	unsigned int flags;
	struct pid *pids[PIDTYPES];
} CORE;

typedef struct {
	__u32 val;
} kuid_t;

typedef struct {
	__u32 val;
} kgid_t;

struct cred {
	kuid_t uid;
	kgid_t gid;
	kuid_t suid;
	kgid_t sgid;
	kuid_t euid;
	kgid_t egid;
} CORE;

struct sched_entity {
	unsigned long long sum_exec_runtime;
} CORE;

struct cpumask {
	unsigned long bits[1];
} CORE;

// Four counters of pages, since Linux 6.2 each of which has parts on every processor
// that are added now and then.
enum { COUNTERS = 4 };

struct percpu_counter {
	long long count;
} CORE;

struct mm_struct {
	struct percpu_counter rss_stat[COUNTERS];
} CORE;

struct mm_rss_stat {
	long count[COUNTERS];
} CORE;

struct mm_struct___before_6_2 {
	struct mm_rss_stat rss_stat;
} CORE;

struct css_set;

struct task_struct {
	unsigned int __state; // since Linux 5.14
	int exit_state;
	int exit_code;
	unsigned long jobctl;
	unsigned int ptrace;
	int static_prio;
	unsigned int policy;
	unsigned int rt_priority;
	struct sched_entity se;
	struct cpumask cpus_mask;
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long long start_boottime; // start_time and real_start_time before Linux 5.5
	const struct cred *real_cred;
	char comm[16];
	struct signal_struct *signal;
	struct sigpending pending;
	struct css_set *cgroups; // if the kernel has control groups
} CORE;

struct task_struct___before_5_14 {
	volatile long state;
} CORE;

// The context of a program that is called for each task.
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} CORE;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} CORE;

enum { SIGCHLD = 17, SIGCONT = 18 }; // include/uapi/asm-generic/signal.h

// include/linux/sched/signal.h
#define SIGNAL_STOP_STOPPED 0x1   // the process is stopped, and nothing else
#define SIGNAL_GROUP_EXIT 0x4     // it ends as a whole
#define SIGNAL_CLD_CONTINUED 0x20 // it goes on, and its parent is to be told

#define JOBCTL_STOP_SIGMASK 0xffff // include/linux/sched/jobctl.h: the signal of a thread's last stop
#define TASK_STOPPED_OR_TRACED 0xc // include/linux/sched.h: __TASK_STOPPED | __TASK_TRACED
#define MAX_PID_NS_LEVEL 32        // include/linux/pid_namespace.h
