package master

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"bproc/internal/nearest"
)

// The configuration file has one directive a line; "#" begins a comment.

// ReadFile applies a configuration file. The error has a line for each fault, which begins with
// file and number (FILE:3).
func (c *Config) ReadFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	return c.Read(f, path)
}

// Read applies the directives of r. Errors call r by its name.
func (c *Config) Read(r io.Reader, name string) error {
	var faults []error
	lines := bufio.NewScanner(r)
	number, more := 1, 0
	for ; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		switch err := c.directive(words[0], words[1:]); {
		case err != nil && len(faults) == maxFaults:
			more++
		case err != nil:
			faults = append(faults, fmt.Errorf("%s:%d: %s", name, number, short(err.Error())))
		}
	}
	if more > 0 {
		faults = append(faults, fmt.Errorf("%s: %d lines more are wrong", name, more))
	}
	if err := lines.Err(); err != nil {
		faults = append(faults, fmt.Errorf("%s:%d: %w", name, number, err))
	}
	if err := c.Numbers.Check(); err != nil {
		faults = append(faults, fmt.Errorf("%s: %w", name, err))
	}
	return errors.Join(faults...)
}

// Bounds on the number of faults that are reported, and on the text of one in bytes: the file may
// be something else altogether.
const (
	maxFaults = 20
	maxFault  = 400
)

func short(text string) string {
	if len(text) <= maxFault {
		return text
	}
	return strings.ToValidUTF8(text[:maxFault], "") + "..."
}

// directive applies one directive.
func (c *Config) directive(name string, args []string) error {
	d, known := directives[name]
	switch {
	case !known && retired[name] != "":
		return fmt.Errorf("%s is of the original BProc and has no meaning here: %s", name, retired[name])
	case !known:
		return unknown(name)
	case len(args) < d.least || d.most >= 0 && len(args) > d.most:
		return fmt.Errorf("%s: its form is \"%s %s\"", name, name, d.form)
	}
	if err := d.apply(c, args); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// unknown returns the error for an unknown directive, with the nearest known one.
func unknown(name string) error {
	names := make([]string, 0, len(directives))
	for have := range directives {
		names = append(names, have)
	}
	if near := nearest.To(name, names); near != "" {
		return fmt.Errorf("unknown directive %q; is %s meant?", name, near)
	}
	return fmt.Errorf("unknown directive %q; bpmaster(8) has them all", name)
}

// CheckPrograms looks for the programs that the configuration names.
func (c *Config) CheckPrograms() error {
	var faults []error
	if c.SetUp != "" {
		info, err := os.Stat(c.SetUp)
		switch {
		case errors.Is(err, fs.ErrNotExist) && c.SetUp == DefaultSetUp:
		case err != nil:
			faults = append(faults, fmt.Errorf("setup: %w", err))
		case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
			faults = append(faults, fmt.Errorf("setup: %s is not an executable file: make it one with 'chmod +x'", c.SetUp))
		}
	}
	if len(c.PowerOn) > 0 {
		if _, err := exec.LookPath(c.PowerOn[0]); err != nil {
			faults = append(faults, fmt.Errorf("power-on: %w", err))
		}
	}
	return errors.Join(faults...)
}
