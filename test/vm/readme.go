package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// typed returns the commands in README.md that are to be typed after a line that ends with begin, in the
// section "A real cluster". They are run as they are there.
func typed(begin string) (commands []string, err error) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return nil, err
	}
	_, text, _ := strings.Cut(string(readme), "\n## A real cluster\n")
	_, text, _ = strings.Cut(text, begin+"\n\n")
	for line := range strings.Lines(text) {
		command, is := strings.CutPrefix(line, "    ")
		if !is {
			break
		}
		command, _, _ = strings.Cut(command, " #")
		commands = append(commands, strings.TrimSpace(command))
	}
	if len(commands) < 3 {
		return nil, fmt.Errorf("README.md has only %q after %q", commands, begin)
	}
	return commands, nil
}

// The lines of README.md before the commands of each place.
const (
	onFrontEnd = "On the front end:"
	onNode     = "On a node:"
	asUser     = "And on the front end, as any user:"
)

// here returns the line for a machine's role.
func (m *machine) here() string {
	if m.name == frontEnd {
		return onFrontEnd
	}
	return onNode
}

// byReadme makes a cluster of the front end and a node, on which the packages are installed, by the
// README's other commands.
func byReadme(ctx context.Context, front, node *machine) error {
	var errs [3]error
	var lines [3][]string
	for i, begin := range []string{onFrontEnd, onNode, asUser} {
		lines[i], errs[i] = typed(begin)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	token := ""
	for _, line := range lines[0][1:] {
		out, err := front.run(ctx, line)
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		token = strings.TrimSpace(out) // of the last one
	}
	for _, line := range lines[1][1:] {
		if _, err := node.run(ctx, strings.ReplaceAll(line, "TOKEN", token)); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	if err := front.await(ctx, `test "$(bpstat -t up)" = 1`); err != nil {
		return err
	}
	for _, line := range lines[2] {
		if strings.HasSuffix(line, " top") {
			line += " -b -n 1" // there is no terminal
		}
		if _, err := front.run(ctx, "cd / && runuser -u user -- "+line); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return nil
}
