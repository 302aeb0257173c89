package check

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// process is a process of the machine.
type process struct {
	m   *Machine
	pid string // "self" for this process
}

// running returns root's process with a name, or nil. Any user can use the name. A process with
// several numbers is in another PID namespace and belongs to another machine (a container).
func (m *Machine) running(name string) *process {
	entries, err := os.ReadDir(m.Root.Path("/proc"))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		p := &process{m, e.Name()}
		if comm, err := m.Root.Text(p.file("comm")); err == nil && comm == name && p.status("Uid") == "0" && len(p.statuses("NSpid")) == 1 {
			return p
		}
	}
	return nil
}

// self returns this process.
func (m *Machine) self() *process { return &process{m, "self"} }

// nearest returns the daemon or, if it does not run, this process.
func (s *subject) nearest() *process {
	if s.daemon != nil {
		return s.daemon
	}
	return s.self()
}

// String names the process in a result.
func (p *process) String() string {
	if p.pid == "self" {
		return "this shell"
	}
	comm, err := p.m.Root.Text(p.file("comm"))
	if err != nil {
		comm = "process"
	}
	return fmt.Sprintf("%s (%s)", comm, p.pid)
}

func (p *process) file(name string) string { return "/proc/" + p.pid + "/" + name }

// statuses returns the words of a field of /proc/PID/status.
func (p *process) statuses(field string) []string {
	text, err := p.m.Root.Text(p.file("status"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, field+":"); found {
			return strings.Fields(value)
		}
	}
	return nil
}

// status returns the first word of a field of /proc/PID/status, or "".
func (p *process) status(field string) string {
	if words := p.statuses(field); len(words) > 0 {
		return words[0]
	}
	return ""
}

// capabilities returns a set of capabilities, such as CapEff.
func (p *process) capabilities(field string) (uint64, error) {
	return strconv.ParseUint(p.status(field), 16, 64)
}

// hardLimit returns a hard limit of /proc/PID/limits, or false if there is none.
func (p *process) hardLimit(name string) (uint64, bool) {
	text, err := p.m.Root.Text(p.file("limits"))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, name); found {
			if words := strings.Fields(rest); len(words) > 1 {
				limit, err := strconv.ParseUint(words[1], 10, 64)
				return limit, err == nil
			}
		}
	}
	return 0, false
}

// operand returns the operand of bpslave, or "". It is the last argument, unless that is an option
// or the value of one: all options but --keep have values.
func (p *process) operand() string {
	text, err := p.m.Root.Text(p.file("cmdline"))
	if err != nil {
		return ""
	}
	args := strings.Split(strings.TrimRight(text, "\x00"), "\x00")
	if len(args) < 2 {
		return ""
	}
	last, before := args[len(args)-1], args[len(args)-2]
	isValue := strings.HasPrefix(before, "--") && before != "--" && before != "--keep" && !strings.Contains(before, "=")
	if strings.HasPrefix(last, "-") || isValue {
		return ""
	}
	return last
}

// option returns the value of an option of a process, or "".
func (p *process) option(name string) string {
	text, err := p.m.Root.Text(p.file("cmdline"))
	if err != nil {
		return ""
	}
	args := strings.Split(text, "\x00")
	for i, arg := range args {
		if value, found := strings.CutPrefix(arg, name+"="); found {
			return value
		}
		if arg == name && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}
