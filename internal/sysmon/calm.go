package sysmon

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Slack is by how much the monitor may wake up late.
const Slack = 5 * time.Millisecond

// Calm gives the monitor thread of this program its slack. It needs CAP_SYS_NICE.
func Calm() error {
	tid, err := monitor()
	if err == nil {
		err = os.WriteFile(slackFile(tid), strconv.AppendInt(nil, Slack.Nanoseconds(), 10), 0)
	}
	if err != nil {
		return fmt.Errorf("timer slack of the runtime's monitor thread: %w", err)
	}
	return nil
}

// slackFile is the file with the slack of a thread (proc_pid_timerslack_ns(5)): it is
// in the thread's own directory, which the list of processes does not show.
func slackFile(tid string) string { return "/proc/" + tid + "/timerslack_ns" }

// monitor returns the monitor's thread ID: it is the first thread that the runtime
// starts, and the kernel lists threads in the order in which they were made.
func monitor() (tid string, err error) {
	tasks, err := os.Open("/proc/self/task")
	if err != nil {
		return "", err
	}
	defer tasks.Close()
	tids, err := tasks.Readdirnames(2)
	if err == nil && len(tids) < 2 {
		tids, err = tasks.Readdirnames(1)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", tasks.Name(), err)
	}
	return tids[len(tids)-1], nil
}
