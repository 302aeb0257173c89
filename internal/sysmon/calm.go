package sysmon

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Slack is how late the monitor may wake up.
const Slack = 5 * time.Millisecond

// Calm sets the timer slack of this program's monitor thread. It needs CAP_SYS_NICE.
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

// slackFile returns the file with the slack of a thread (proc_pid_timerslack_ns(5)). It is in
// /proc/TID, which exists although the directory of /proc does not list threads.
func slackFile(tid string) string { return "/proc/" + tid + "/timerslack_ns" }

// monitor returns the monitor's thread ID. The monitor is the first thread that the runtime starts,
// and the kernel lists threads in the order of their creation.
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
