package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// mountWork mounts the directories of the second disk at their paths on the host.
const mountWork = `set -e
mount -o noatime LABEL=work /media
while read -r path; do mkdir -p "$path"; mount --bind "/media$path" "$path"; done </media/paths`

// worker starts the machine that has the tree.
func (l *lab) worker(ctx context.Context) (*machine, error) {
	if err := l.makeWork(ctx); err != nil {
		return nil, err
	}
	m, err := l.add("front-end", 1)
	if err != nil {
		return nil, err
	}
	m.extra = l.work
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	_, err = m.run(ctx, mountWork)
	return m, err
}

// makeDemo runs the tour of the demo, which needs no terminal.
func makeDemo(ctx context.Context, l *lab) error {
	m, err := l.worker(ctx)
	if err != nil {
		return err
	}
	return l.makeIn(ctx, m, "demo", "")
}

// makeTest runs all tests, which takes hours on a slow machine.
func makeTest(ctx context.Context, l *lab) error {
	m, err := l.worker(ctx)
	if err != nil {
		return err
	}
	run := l.testSelection()
	if l.image.translated() {
		run += " TEST_TIMEOUT=3h"
	}
	return l.makeIn(ctx, m, "test", run)
}

// makeIn makes a target in a machine. Its output is written to a file as it comes.
func (l *lab) makeIn(ctx context.Context, m *machine, target, variables string) error {
	file := fmt.Sprintf("%s/%s-%s-%s.log", l.config.dir, target, l.kernel, l.cgroup)
	log, err := os.Create(file)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Println("output: " + file)
	_, err = m.runTo(ctx, ". /media/env; export "+l.slow()+"; time make "+target+variables, nil, stamped{log})
	return err
}

// testSelection returns make's variables for the selection of tests. The shell and the make in the
// machine each remove a level of quotes and dollars.
func (c *config) testSelection() (selection string) {
	for _, s := range []struct{ name, value string }{{"RUN", c.testRun}, {"PKG", c.testPkg}} {
		if s.value != "" {
			value := strings.ReplaceAll(s.value, "$", "$$")
			selection += " " + s.name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
	}
	return selection
}

// slow returns a variable that tells tests how slow the machine is, and so how long they may wait.
func (l *lab) slow() string {
	if l.image.translated() {
		return "BPROC_SLOW=10"
	}
	return "BPROC_SLOW=1"
}
