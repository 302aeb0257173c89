package check

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bproc/pidmap"
)

// sysctlDirs are the directories that sysctl --system reads (sysctl(8)), besides /etc/sysctl.conf.
var sysctlDirs = []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"}

// pidMax checks the greatest process number. The keeper on the front end, and init on a node, raise
// it when they start, so only settings that lower it again do harm.
func pidMax(_ context.Context, s *subject) Result {
	text, err := s.Root.Text("/proc/sys/kernel/pid_max")
	if err != nil {
		return failed(err, "mount procfs on /proc")
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return failed(err, "mount procfs on /proc")
	}
	remedy := fmt.Sprintf("set kernel.pid_max = %d there, and run sysctl --system", pidmap.Max)
	if file, value := s.lowered(); file != "" {
		return warn(fmt.Sprintf("%s sets kernel.pid_max to %d: below what process numbers of nodes need", file, value), remedy)
	}
	if limit >= int(pidmap.Max) {
		return ok("%d", limit)
	}
	if keeper := s.running("bpkeeper"); s.side == FrontEnd && keeper != nil {
		return fail(fmt.Sprintf("%d; it was lowered while %v runs", limit, keeper), fmt.Sprintf("sysctl -w kernel.pid_max=%d", pidmap.Max))
	}
	return ok("%d, to be raised to %d at the start", limit, pidmap.Max)
}

// lowered returns a file that sets kernel.pid_max too low.
func (s *subject) lowered() (file string, value int) {
	files := []string{"/etc/sysctl.conf"}
	for _, dir := range sysctlDirs {
		entries, err := os.ReadDir(s.Root.Path(dir))
		if err != nil {
			continue // the directory does not exist
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".conf") {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	for _, file := range files {
		if value, found := s.sysctl(file, "kernel.pid_max"); found && value < int(pidmap.Max) {
			return file, value
		}
	}
	return "", 0
}

// sysctl returns the number to which a file of sysctl.conf(5) sets a key.
func (s *subject) sysctl(file, name string) (value int, found bool) {
	f, err := os.Open(s.Root.Path(file))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, text, _ := strings.Cut(lines.Text(), "=")
		key = strings.TrimPrefix(strings.TrimSpace(key), "-") // a "-" means that errors are ignored
		if strings.ReplaceAll(key, "/", ".") != name {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			value, found = n, true
		}
	}
	return value, found
}
