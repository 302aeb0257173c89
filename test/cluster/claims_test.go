package cluster_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bproc/test/cluster"
)

// claim is what the front end must show of a process, according to a program.
type claim struct {
	pid, ppid, pgid, sid int
	uids, gids           []int // real, effective, saved
	state                string
	comm                 string
	args                 []string // nil if not claimed
}

// parseClaim parses the words after "@proc" (testdata/conform/conform.h).
func parseClaim(text string) (claim, error) {
	const fields = 11 // before the name, which may have blanks
	words := strings.SplitN(text, " ", fields+1)
	if len(words) <= fields {
		return claim{}, fmt.Errorf("claim %q: too short", text)
	}
	var numbers []int
	for _, w := range words[:fields-1] {
		n, err := strconv.Atoi(w)
		if err != nil {
			return claim{}, fmt.Errorf("claim %q: %w", text, err)
		}
		numbers = append(numbers, n)
	}
	return claim{
		pid: numbers[0], ppid: numbers[1], pgid: numbers[2], sid: numbers[3],
		uids: numbers[4:7], gids: numbers[7:10], state: words[fields-1], comm: words[fields],
	}, nil
}

// claims are the claims that have not been verified.
type claims map[int]claim

// add adds the claim in a program's line; ok is false if it has none.
func (c claims) add(line string) (ok bool, err error) {
	if text, is := strings.CutPrefix(line, "@proc "); is {
		one, err := parseClaim(text)
		c[one.pid] = one
		return true, err
	}
	if text, is := strings.CutPrefix(line, "@args "); is {
		number, args, _ := strings.Cut(text, " ")
		pid, err := strconv.Atoi(number)
		one := c[pid]
		one.args = strings.Split(args, "\x1f")
		c[pid] = one
		return true, err
	}
	return false, nil
}

// check compares all claims with the processes of a machine.
func (c claims) check(m *cluster.Machine) error {
	for _, pid := range slices.Sorted(maps.Keys(c)) {
		if err := c[pid].check(m); err != nil {
			return err
		}
	}
	return nil
}

func (c claim) check(m *cluster.Machine) error {
	got, err := m.Proc(c.pid)
	if errors.Is(err, fs.ErrNotExist) && c.state == "Z" {
		return nil // a ghost whose parent is a ghost is not kept as a zombie
	}
	if err != nil {
		return fmt.Errorf("process %d %s: %w", c.pid, c.comm, err)
	}
	state := got.State
	if stopped(state) {
		state = "T"
	}
	same := got.PPID == c.ppid && got.PGID == c.pgid && got.SID == c.sid && state == c.state &&
		slices.Equal(got.UIDs, c.uids) && slices.Equal(got.GIDs, c.gids)
	if c.state != "Z" { // a zombie has no arguments
		same = same && got.Comm == c.comm && (c.args == nil || slices.Equal(got.Args, c.args))
	}
	if !same {
		return fmt.Errorf("process %d is %+v, want %+v", c.pid, got, c)
	}
	return nil
}
