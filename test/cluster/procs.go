package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Proc is a process as the plain /proc of its machine shows it.
type Proc struct {
	PID   int
	PPID  int
	PGID  int
	SID   int
	UID   int
	UIDs  []int // real, effective, saved
	GIDs  []int
	Comm  string
	Exe   string   // empty for a zombie and for a kernel thread
	State string   // R, S, T, t, Z ...
	Args  []string // empty for a zombie
	// Space is its number in the process space of its node, or 0 if it is in none; SpacePGID and
	// SpaceSID are those of its group and session.
	Space, SpacePGID, SpaceSID int
}

// Proc returns a process of the machine; fs.ErrNotExist if it does not exist.
func (m *Machine) Proc(pid int) (Proc, error) {
	dir, err := m.Path(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return Proc{}, err
	}
	return readProc(dir)
}

// Procs returns all processes of the machine.
func (m *Machine) Procs() ([]Proc, error) {
	dir, err := m.Path("/proc")
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []Proc
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		p, err := readProc(filepath.Join(dir, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // it has ended
		case err != nil:
			return nil, err
		default:
			all = append(all, p)
		}
	}
	return all, nil
}

// Remote returns the process with number pid in the process space of the node.
func (m *Machine) Remote(pid int) (Proc, error) {
	all, err := m.Procs()
	if err != nil {
		return Proc{}, err
	}
	for _, p := range all {
		if p.Space == pid {
			return p, nil
		}
	}
	return Proc{}, fmt.Errorf("%s: process %d of its process space: %w", m.Name, pid, fs.ErrNotExist)
}

// Ghosts returns the machine's ghosts: the processes that run the ghost's image, without those that
// the keeper has for its own use.
func (m *Machine) Ghosts() ([]Proc, error) {
	all, err := m.Procs()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p Proc) bool {
		// By its argument: a process that is stopped from its beginning has not set its name yet.
		return !strings.HasSuffix(p.Exe, "/lib/bproc/ghost") || len(p.Args) > 0 && strings.HasPrefix(p.Args[0], "bpkeeper")
	}), nil
}

// Named returns the machine's processes whose command name is comm.
func (m *Machine) Named(comm string) ([]Proc, error) {
	all, err := m.Procs()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p Proc) bool { return p.Comm != comm }), nil
}

func readProc(dir string) (Proc, error) {
	var p Proc
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return p, gone(err)
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return p, gone(err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return p, gone(err)
	}
	p.Exe, _ = os.Readlink(filepath.Join(dir, "exe")) // a zombie has none
	// The name is in parentheses and may itself have blanks and parentheses.
	text := string(stat)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return p, fmt.Errorf("%s/stat: unknown form", dir)
	}
	p.Comm = text[open+1 : end]
	if _, err := fmt.Sscan(text[:open], &p.PID); err != nil {
		return p, fmt.Errorf("%s/stat: %w", dir, err)
	}
	if _, err := fmt.Sscan(text[end+1:], &p.State, &p.PPID, &p.PGID, &p.SID); err != nil {
		return p, fmt.Errorf("%s/stat: %w", dir, err)
	}
	if len(args) > 0 {
		p.Args = strings.Split(strings.TrimSuffix(string(args), "\x00"), "\x00")
	}
	if uids := statusInts(string(status), "Uid:"); len(uids) > 3 {
		p.UID, p.UIDs = uids[0], uids[:3]
	}
	if gids := statusInts(string(status), "Gid:"); len(gids) > 3 {
		p.GIDs = gids[:3]
	}
	p.Space = innerInt(string(status), "NSpid:")
	p.SpacePGID = innerInt(string(status), "NSpgid:")
	p.SpaceSID = innerInt(string(status), "NSsid:")
	return p, nil
}

// gone converts the error for a process that ends while its files are read into the error for one
// that does not exist.
func gone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

// innerInt returns the number in the innermost PID namespace; 0 if there is only one namespace.
func innerInt(status, name string) int {
	all := statusInts(status, name)
	if len(all) < 2 {
		return 0
	}
	return all[len(all)-1]
}

// statusInts returns the numbers in a line of /proc/PID/status.
func statusInts(status, name string) []int {
	for line := range strings.Lines(status) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		var all []int
		for _, field := range strings.Fields(rest) {
			if n, err := strconv.Atoi(field); err == nil {
				all = append(all, n)
			}
		}
		return all
	}
	return nil
}
