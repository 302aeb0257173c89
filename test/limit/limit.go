// Package limit bounds the time that the tests of a package may take whose waits are
// for other processes. go test has one limit for all packages, that of the longest; a
// package with this one that hangs is told much earlier, with all of its stacks.
package limit

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// packageTimeout is how long the tests of a package may take: many times what
	// they do on a fast machine, for some are twenty times slower. It is tripled under the race detector.
	packageTimeout = 30 * time.Minute
	// endTimeout is how long a process may take to end after that.
	endTimeout = 30 * time.Second
)

// Tests runs the tests of a package and returns the exit code.
func Tests(m *testing.M) int {
	Set()
	return m.Run()
}

// Set has the process end when the time is over, as the option -timeout of go test does,
// if that is not earlier. It is called before the tests run.
func Set() {
	flag.Parse() // before the flag is set, or the command line would undo that
	if err := lower(flag.CommandLine.Lookup("test.timeout"), timeout()); err != nil {
		panic(fmt.Sprint("limit the time of the tests: ", err)) // this is no test program
	}
}

// timeout is how long the tests of this package may take.
func timeout() time.Duration {
	if race {
		return Scaled(3 * packageTimeout)
	}
	return Scaled(packageTimeout)
}

// lower sets a flag whose value is longer than limit, or 0, which means no limit.
func lower(f *flag.Flag, limit time.Duration) error {
	if f == nil {
		return errors.New("no flag for it")
	}
	now, err := time.ParseDuration(f.Value.String())
	if err != nil {
		return err
	}
	if now != 0 && now <= limit {
		return nil
	}
	return f.Value.Set(limit.String())
}

// Run runs a command in which [Tests] is called, such as this program in namespaces of
// its own. One that does not end when it should is killed, and not waited for if that
// does not help: a process may hang in the kernel on its way out. What it and its
// children were at then is written to out.
func Run(cmd *exec.Cmd, out io.Writer) error {
	return run(cmd, out, timeout()+endTimeout)
}

func run(cmd *exec.Cmd, out io.Writer, limit time.Duration) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }() // ends with this process at the latest, which nothing else does then
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
	}
	fmt.Fprintf(out, "the tests do not end after %v; process, state, where its threads wait:\n", limit)
	for _, line := range below(cmd.Process.Pid) {
		fmt.Fprintln(out, line)
	}
	_ = cmd.Process.Kill() // it has ended: as wanted
	select {
	case err := <-done:
		return err
	case <-time.After(endTimeout):
		return fmt.Errorf("%s does not end after SIGKILL", cmd.Path)
	}
}

// below describes a process and its descendants.
func below(pid int) []string {
	const depth = 10
	var lines []string
	for level, pids := 0, []string{fmt.Sprint(pid)}; level < depth && len(pids) > 0; level++ {
		var next []string
		for _, pid := range pids {
			lines = append(lines, describe(pid))
			files, _ := filepath.Glob("/proc/" + pid + "/task/*/children") // the pattern is valid
			for _, file := range files {
				children, _ := os.ReadFile(file) // it has ended: none
				next = append(next, strings.Fields(string(children))...)
			}
		}
		pids = next
	}
	return lines
}

func describe(pid string) string {
	status, _ := os.ReadFile("/proc/" + pid + "/status") // it has ended: nothing to say
	words := []string{pid}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		if key == "Name" || key == "State" || key == "PPid" || key == "TracerPid" {
			words = append(words, key+"="+value)
		}
	}
	files, _ := filepath.Glob("/proc/" + pid + "/task/*/wchan") // the pattern is valid
	for _, file := range files[:min(len(files), 20)] {
		if wchan, err := os.ReadFile(file); err == nil {
			words = append(words, string(wchan))
		}
	}
	return strings.Join(words, " ")
}
