// Package limit bounds the time of a package's tests that wait for other processes. go test has one
// limit for all packages, that of the longest. A package with a limit of its own that hangs is
// reported much earlier, with all of its stacks.
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
	// packageTimeout bounds the tests of a package: many times their time on a fast machine,
	// because some machines are twenty times slower. It is tripled under the race detector.
	packageTimeout = 30 * time.Minute
	// endTimeout bounds the end of a process after that.
	endTimeout = 30 * time.Second
)

// Tests runs the tests of a package and returns the exit code.
func Tests(m *testing.M) int {
	Set()
	return m.Run()
}

// Set makes the process end when the time is over, like the option -timeout of go test, unless that
// is earlier. It is called before the tests run.
func Set() {
	flag.Parse() // before the flag is set, or parsing the command line would undo that
	if err := lower(flag.CommandLine.Lookup("test.timeout"), timeout()); err != nil {
		panic(fmt.Sprint("limit the time of the tests: ", err)) // this is not a test program
	}
}

// timeout returns the limit for the tests of this package.
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

// Run runs a command that calls [Tests], such as this program in namespaces of its own. A command
// that does not end in time is killed. It is not waited for if that does not help: a process may
// hang in the kernel while it ends. The state of it and its children at that time is written to
// out.
func Run(cmd *exec.Cmd, out io.Writer) error {
	return run(cmd, out, timeout()+endTimeout)
}

func run(cmd *exec.Cmd, out io.Writer, limit time.Duration) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }() // ends with this process at the latest
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
	}
	fmt.Fprintf(out, "the tests do not end after %v; process, state, where its threads wait:\n", limit)
	for _, line := range below(cmd.Process.Pid) {
		fmt.Fprintln(out, line)
	}
	_ = cmd.Process.Kill() // it may have ended, as wanted
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
				children, _ := os.ReadFile(file) // none if it has ended
				next = append(next, strings.Fields(string(children))...)
			}
		}
		pids = next
	}
	return lines
}

func describe(pid string) string {
	status, _ := os.ReadFile("/proc/" + pid + "/status") // empty if it has ended
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
