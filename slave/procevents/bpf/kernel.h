// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// What is read of the kernel's types: the few fields that are used. Where they are in
// the running kernel is found when the program is loaded (CO-RE), so nothing here
// depends on a version or an architecture.

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

struct task_struct {
	unsigned int __state; // since Linux 5.14
	unsigned long jobctl;
	int pid;
	int tgid;
	int exit_code;
	struct pid *thread_pid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	const struct cred *real_cred;
} CORE;

struct task_struct___before_5_14 {
	volatile long state;
} CORE;

enum { SIGCHLD = 17, SIGCONT = 18 }; // include/uapi/asm-generic/signal.h

// include/linux/sched/signal.h
#define SIGNAL_STOP_STOPPED 0x1   // the process is stopped, and nothing else
#define SIGNAL_GROUP_EXIT 0x4     // it ends as a whole
#define SIGNAL_CLD_CONTINUED 0x20 // it goes on, and its parent is to be told

#define JOBCTL_STOP_SIGMASK 0xffff // include/linux/sched/jobctl.h: the signal of a thread's last stop
#define TASK_STOPPED_OR_TRACED 0xc // include/linux/sched.h: __TASK_STOPPED | __TASK_TRACED
#define MAX_PID_NS_LEVEL 32        // include/linux/pid_namespace.h
