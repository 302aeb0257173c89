// Package load measures how busy this machine is. It reads procfs on request, and does nothing
// else.
package load

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Sample returns how busy this machine is.
func Sample() (*wire.Sampled, error) { return sample("/proc") }

func sample(proc string) (*wire.Sampled, error) {
	s := new(wire.Sampled)
	for file, parse := range map[string]func(*wire.Sampled, string) error{"/loadavg": averages, "/meminfo": memory} {
		text, err := os.ReadFile(proc + file)
		if err == nil {
			err = parse(s, string(text))
		}
		if err != nil {
			return nil, fmt.Errorf("%s%s: %w", proc, file, err)
		}
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return nil, fmt.Errorf("CLOCK_BOOTTIME: %w", err)
	}
	s.Uptime = uint64(now.Sec)
	return s, nil
}

// averages reads proc_loadavg(5): 0.10 0.20 0.30 1/234 5678.
func averages(s *wire.Sampled, text string) error {
	fields := strings.Fields(text)
	if len(fields) < 4 {
		return fmt.Errorf("%q has %d fields", text, len(fields))
	}
	for i := range s.Averages {
		f, err := strconv.ParseFloat(fields[i], 64)
		if err != nil || f < 0 || f > 1e6 {
			return fmt.Errorf("%q is no load average", fields[i])
		}
		s.Averages[i] = uint32(f*100 + 0.5)
	}
	running, threads, _ := strings.Cut(fields[3], "/")
	for _, count := range []struct {
		text string
		to   *uint32
	}{{running, &s.Running}, {threads, &s.Threads}} {
		n, err := strconv.ParseUint(count.text, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is no count of threads", fields[3])
		}
		*count.to = uint32(n)
	}
	return nil
}

// memory reads the wanted lines of proc_meminfo(5): MemTotal:  1234 kB.
func memory(s *wire.Sampled, text string) error {
	wanted := map[string]*uint64{"MemTotal": &s.Memory, "MemAvailable": &s.Available, "SwapTotal": &s.Swap, "SwapFree": &s.SwapFree}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		to := wanted[name]
		if to == nil {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 54)
		if err != nil {
			return fmt.Errorf("%q is no size", strings.TrimSpace(line))
		}
		*to = n << 10
	}
	if s.Memory == 0 {
		return fmt.Errorf("there is no line MemTotal")
	}
	return nil
}
