package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// logTail is how much of each log is shown for a failed test.
const logTail = 32 << 10

// logOnFailure shows what the daemons write from now on if t fails.
func (c *Cluster) logOnFailure(t testing.TB) {
	sizes := map[string]int64{}
	for _, file := range c.logFiles() {
		if info, err := os.Stat(file); err == nil {
			sizes[file] = info.Size()
		}
	}
	t.Cleanup(func() {
		if !t.Failed() || c.failed.Load() { // the watchdog has shown them
			return
		}
		for _, file := range c.logFiles() {
			text, err := readTail(file, sizes[file])
			if err != nil {
				t.Log(err)
			}
			if len(text) > 0 {
				name, _ := filepath.Rel(c.dir, file) // both are absolute
				t.Logf("%s:\n%s", name, text)
			}
		}
	})
}

// lastWords returns the logs of the daemons of a cluster that did not start.
func (c *Cluster) lastWords() error {
	var errs []error
	for _, file := range c.logFiles() {
		text, err := readTail(file, 0)
		if err == nil && len(text) > 0 {
			err = fmt.Errorf("%s:\n%s", file, text)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Errors returns the errors that the daemons of a cluster have logged.
func (c *Cluster) Errors() ([]string, error) {
	var found []string
	for _, file := range c.logFiles() {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "level=ERROR") {
				found = append(found, strings.TrimSpace(line))
			}
		}
	}
	return found, nil
}

// Log returns the text of a log by the name that a failed test shows: the machine's name, "log",
// and the daemon's name.
func (c *Cluster) Log(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	return string(text), err
}

func (c *Cluster) logFiles() []string {
	files, _ := filepath.Glob(filepath.Join(c.dir, "*", "log", "*.log")) // the pattern is valid
	return files
}

// readTail returns the end of a file, from offset on and at most [logTail].
func readTail(file string, offset int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	offset = max(offset, info.Size()-logTail)
	text, err := io.ReadAll(io.NewSectionReader(f, offset, info.Size()-offset))
	return bytes.TrimSpace(text), err
}
