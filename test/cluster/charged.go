package cluster

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// Charged returns the memory that the machine's control group is charged for, without the pages of files, in bytes
// (admin-guide/cgroup-v2 and cgroup-v1/memory of the kernel's documents).
func (m *Machine) Charged() (float64, error) {
	for _, version := range []struct{ dir, usage, files, shared string }{
		{"/sys/fs/cgroup", "memory.current", "file", "shmem"},
		{"/sys/fs/cgroup/memory", "memory.usage_in_bytes", "total_cache", "total_shmem"},
	} {
		text, err := m.ReadFile(version.dir + "/" + version.usage)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		total, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		if err != nil {
			return 0, err
		}
		stat, err := m.ReadFile(version.dir + "/memory.stat")
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(stat)) {
			name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
			value, _ := strconv.ParseFloat(number, 64) // the lines with these names have one
			switch name {
			case version.files:
				total -= value
			case version.shared: // which are counted as files, too
				total += value
			}
		}
		return total, nil
	}
	return 0, errors.New("no control group for memory on this host (memory.current, memory.usage_in_bytes)")
}
