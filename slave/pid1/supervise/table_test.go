package supervise

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// share returns tables with the same memory, as for supervisors that follow one another.
func share(t *testing.T, count int) []*table {
	t.Helper()
	fd, err := NewTable()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	tables := make([]*table, count)
	for i := range tables {
		if tables[i], err = openTable(fd); err != nil {
			t.Fatal(err)
		}
	}
	return tables
}

func TestTableOutlivesItsUser(t *testing.T) {
	tables := share(t, 2)
	first, second := tables[0], tables[1]
	defer second.close()
	if open := first.open(); len(open) > 0 {
		t.Fatalf("new table: %d calls", len(open))
	}
	for id := uint64(1); id <= 4; id++ {
		c := first.take()
		c.receiver, c.notif.ID, c.notif.PID = int32(Outside), id, uint32(10*id)
		switch id {
		case 2:
			first.release(c)
		case 3:
			c.notif.ID = 0 // killed while it cleared the slot
		}
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	left := make(map[uint64]uint32)
	for _, c := range second.open() {
		left[c.id()] = c.notif.PID
	}
	if len(left) != 2 || left[1] != 10 || left[4] != 40 {
		t.Errorf("left: %v, want calls 1 and 4", left)
	}
	free := 0
	for c := second.take(); c != nil; c = second.take() {
		if *c != (slot{}) {
			t.Errorf("free slot has %+v", *c)
		}
		free++
	}
	if free != slots-2 {
		t.Errorf("%d free slots, want %d", free, slots-2)
	}
	second.drop(func(id uint64) bool { return id == 1 })
	if c := second.take(); c == nil || second.take() != nil {
		t.Error("one call was dropped, so one slot is free")
	}
}

func TestOneHasTheLock(t *testing.T) {
	tables := share(t, 2)
	first, second := tables[0], tables[1]
	defer second.close()
	for _, c := range []struct {
		name   string
		before func() error
		of     *table
		want   bool
	}{
		{"nobody has it", func() error { return nil }, first, true},
		{"another has it", func() error { return nil }, second, false},
		{"given back", first.unlock, second, true},
		{"taken by another", func() error { return nil }, first, false},
	} {
		if err := c.before(); err != nil {
			t.Fatal(err)
		}
		if got, err := c.of.lock(); got != c.want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	if err := errors.Join(second.unlock(), first.close()); err != nil {
		t.Fatal(err)
	}
}

func TestMemoryThatIsNoTable(t *testing.T) {
	fd, err := unix.MemfdCreate("short", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := openTable(fd); !errors.Is(err, unix.EINVAL) {
		t.Errorf("got %v, want %v", err, unix.EINVAL)
	}
}

// TestNobodyTakesAllPlaces has users let as many calls wait as they may, one user after the other.
func TestNobodyTakesAllPlaces(t *testing.T) {
	tables := share(t, 2)
	first, second := tables[0], tables[1]
	defer second.close()
	first.open()
	id := uint64(0)
	var waiting []*slot
	wait := func(of *table, user uint32) bool {
		s := of.take()
		if s == nil {
			t.Fatalf("there is no place for a call of user %d", user)
		}
		id++
		s.notif.ID = id
		if of.wait(s, user) {
			waiting = append(waiting, s)
			return true
		}
		of.release(s)
		return false
	}
	all := func(of *table, user uint32) (n int) {
		for wait(of, user) {
			n++
		}
		return n
	}
	for user, want := range []int{512, 256, 128} {
		if got := all(first, uint32(user)); got != want {
			t.Errorf("user %d: %d calls wait, want %d", user, got, want)
		}
	}
	first.release(waiting[0])
	first.drop(func(id uint64) bool { return id > 10 })
	if !wait(first, 2) || all(first, 3) != 69 {
		t.Error("calls that have ended count")
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	if left := second.open(); len(left) != 512+256+128-10+1+69 || !second.wait(left[0], 7) {
		t.Errorf("%d calls are left to the next supervisor, which counts them anew", len(left))
	}
}
