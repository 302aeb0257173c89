package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// pidMax is the kernel's file with the end of the process numbers. It applies to the machines of a
// cluster, too.
const pidMax = "/proc/sys/kernel/pid_max"

// roomFor makes room for the numbers of a number of processes, and as many others. The cluster
// restores the limit in the end.
func (b *bench) roomFor(processes int) error {
	text, err := os.ReadFile(pidMax)
	if err != nil {
		return err
	}
	now, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", pidMax, err)
	}
	if now >= 2*processes {
		return nil
	}
	return os.WriteFile(pidMax, []byte(strconv.Itoa(2*processes)), 0)
}
