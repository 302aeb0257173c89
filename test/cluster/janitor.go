package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// janitorArg0 is the name under which this binary is the janitor.
const janitorArg0 = "bproctest-janitor"

// pidMax is the kernel's file with the end of the process numbers.
const pidMax = "/proc/sys/kernel/pid_max"

// sitePattern matches the names of all sites' directories.
const sitePattern = "bproctest-*-*"

// janitor is a process that waits for the end of this one, in whatever way, and then removes
// everything that has a name.
type janitor struct {
	cmd  *exec.Cmd
	pipe *os.File // closing it starts the work
}

// janitorWork is the janitor's input.
type janitorWork struct {
	Dir    string   // directory to remove
	Groups []string // control groups to empty and remove
	PIDMax string   // former content of /proc/sys/kernel/pid_max
}

func startJanitor(s *site) (*janitor, error) {
	limit, err := os.ReadFile(pidMax)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{janitorArg0},
		Stdin: r, Stderr: os.Stderr,
		// Its own session: Ctrl-C ends the tests, and the janitor must work then.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	work := janitorWork{Dir: s.dir, Groups: s.groupDirs(""), PIDMax: strings.TrimSpace(string(limit))}
	if err := json.NewEncoder(w).Encode(work); err != nil {
		return nil, err
	}
	return &janitor{cmd: cmd, pipe: w}, nil
}

// finish makes the janitor work now, and waits until it is done.
func (j *janitor) finish() error {
	j.pipe.Close()
	if err := within(2*leakTimeout, "remove what is left", j.cmd.Wait); err != nil {
		_ = j.cmd.Process.Kill() // it has ended, or hangs: the tests must not wait for its output
		return fmt.Errorf("janitor: %w", err)
	}
	return nil
}

// putBack restores the end of the process numbers, unless other processes have clusters: before
// Linux 6.14 they share it, and need the numbers in use. The last one restores the value that it
// has found.
func (w janitorWork) putBack(file string) error {
	now, err := os.ReadFile(file)
	if err != nil || strings.TrimSpace(string(now)) == w.PIDMax {
		return nil
	}
	others, err := filepath.Glob(filepath.Join(filepath.Dir(w.Dir), sitePattern))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(others, func(dir string) bool { return dir != w.Dir }) {
		return nil
	}
	return os.WriteFile(file, []byte(w.PIDMax), 0)
}

// janitorMain is the janitor. It returns its exit code.
func janitorMain() int {
	var work janitorWork
	if err := json.NewDecoder(os.Stdin).Decode(&work); err != nil {
		return 1 // the tests ended before anything was made
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return 1
	}
	var errs []error
	for _, dir := range work.Groups {
		errs = append(errs, removeGroup(dir, 10*time.Second))
	}
	if strings.HasPrefix(filepath.Base(work.Dir), "bproctest-") {
		errs = append(errs, os.RemoveAll(work.Dir))
	}
	errs = append(errs, work.putBack(pidMax))
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, janitorArg0+":", err)
		return 1
	}
	return 0
}
