package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// mountWork puts the directories of the second disk where they are on the host.
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

// makeDemo is the tour of the demo, which needs no terminal.
func makeDemo(ctx context.Context, l *lab) error {
	m, err := l.worker(ctx)
	if err != nil {
		return err
	}
	return l.makeIn(ctx, m, "demo", "")
}

// makeTest runs all tests; those of a slow machine take hours.
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

// makeIn makes a target in a machine. What it prints can be read in a file from its first line on.
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

// testSelection is what a make in the machine is told of tests. Its own shell and make each take a
// level of quotes and dollars.
func (c *config) testSelection() (selection string) {
	for _, s := range []struct{ name, value string }{{"RUN", c.testRun}, {"PKG", c.testPkg}} {
		if s.value != "" {
			value := strings.ReplaceAll(s.value, "$", "$$")
			selection += " " + s.name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
	}
	return selection
}

// slow tells tests how slow the machine is, that is, how long they may wait.
func (l *lab) slow() string {
	if l.image.translated() {
		return "BPROC_SLOW=10"
	}
	return "BPROC_SLOW=1"
}
