package pid1_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// The range of numbers of these tests, and the count of births: a quarter more than there are
// numbers.
const (
	fenceFirst = int(pidmap.Node) + 1000
	fenceCount = 2000
	fenceBirth = 2500
)

// birthsTime is for all births: each waits several times for a processor, 30 ms in all where ten others
// want it.
const birthsTime = 5 * time.Minute

// fenced starts a process that forks others, one after the other, once a file exists, and writes
// their numbers to another file.
func fenced(s *space, pid wire.PID, dir, name string) {
	s.tb.Helper()
	script := "until test -e " + dir + "/go; do sleep 0.01; done; i=0; " +
		"while [ $i -lt " + strconv.Itoa(fenceBirth) + " ]; do (read p rest </proc/self/stat; echo $p); i=$((i+1)); done >" + dir + "/" + name
	s.launch(command(pid, 60001, 60000, "sh", "-c", script))
}

// numbersOf returns the numbers that such a process has written.
func numbersOf(t *testing.T, dir, name string) []int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text))
	if len(fields) != fenceBirth {
		t.Fatalf("%d numbers, want %d", len(fields), fenceBirth)
	}
	numbers := make([]int, len(fields))
	for i, field := range fields {
		if numbers[i], err = strconv.Atoi(field); err != nil {
			t.Fatal(err)
		}
	}
	return numbers
}

// checkFenced fails the test if a number is not of the fence, or the cursor did not go back.
func checkFenced(t *testing.T, numbers []int) {
	t.Helper()
	wrapped := false
	for i, n := range numbers {
		if n < fenceFirst || n >= fenceFirst+fenceCount {
			t.Fatalf("number %d is %d, want one from %d to %d", i, n, fenceFirst, fenceFirst+fenceCount-1)
		}
		wrapped = wrapped || i > 0 && n < numbers[i-1]
	}
	if !wrapped {
		t.Error("the cursor did not go back")
	}
}

// Numbers of new processes stay within the fence with a daemon that does nothing and with none at
// all, and also after root of the space has ended the fencer.
func TestFence(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(t *testing.T, s *space)
	}{
		{"without a daemon", func(t *testing.T, s *space) {
			if err := s.conn.Close(); err != nil {
				t.Fatal(err)
			}
		}},
		{"with a daemon that does nothing", func(*testing.T, *space) {}},
		{"with another fencer", func(t *testing.T, s *space) {
			_, before := s.standins()
			for _, pid := range before { // forkers too
				s.end(pid)
			}
			s.until("another fencer", func() bool {
				_, between := s.standins()
				return slices.ContainsFunc(between, func(pid wire.PID) bool { return !slices.Contains(before, pid) })
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSpace(t)
			dir := t.TempDir()
			s.order(fenceFirst, fenceFirst, fenceFirst+fenceCount)
			fenced(s, 70001, dir, "numbers")
			c.before(t, s)
			touch(t, dir+"/go")
			s.within(birthsTime, "the end of who bears others", func() bool { return s.ended(70001) })
			checkFenced(t, numbersOf(t, dir, "numbers"))
		})
	}
}

// end kills a process from outside of the space.
func (s *space) end(pid wire.PID) {
	s.tb.Helper()
	fd, err := unix.Open(filepath.Join(s.proc, pid.String()), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil { // also accepts a directory of procfs
		s.tb.Fatal(err)
	}
}

// order has the fencer put the cursor before next, and keep it within a fence; 0: there is none. It
// returns when the fencer has read the order.
func (s *space) order(next, first, end int) {
	s.tb.Helper()
	var text []byte
	for _, n := range []int{next, first, end, first, end} {
		text = binary.NativeEndian.AppendUint32(text, uint32(n))
	}
	if _, err := unix.Write(s.cursor, text); err != nil {
		s.tb.Fatal(err)
	}
	s.until("the fencer's order", func() bool {
		left, err := unix.IoctlGetInt(s.cursor, unix.TIOCINQ)
		if err != nil {
			s.tb.Fatal(err)
		}
		return left == 0
	})
}
