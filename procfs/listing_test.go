package procfs

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// numbered returns a listing of a directory with two names and some numbers.
func numbered(pids ...int) []entry {
	entries := []entry{{name: "self"}}
	for _, pid := range pids {
		entries = append(entries, entry{name: strconv.Itoa(pid)})
	}
	return numbersLast(append(entries, entry{name: "cpuinfo"}))
}

// read lists as the kernel does, in pieces of some names. Before each piece, list returns what is in the
// directory now.
func read(size int, list func() []entry) (names []string) {
	position := uint64(dots)
	for {
		piece := rest(list(), position)
		if len(piece) == 0 {
			return names
		}
		for _, e := range piece[:min(size, len(piece))] {
			names, position = append(names, e.name), e.behind
		}
	}
}

// TestListingGoesOn lists a directory in pieces of all sizes while numbers come and go. What is there all the
// time is listed once, and nothing twice.
func TestListingGoesOn(t *testing.T) {
	lists := [][]entry{
		numbered(300, 0, 1, 2, 3, 20, 2000, 4000),
		numbered(3, 20, 4000, 2000, 300),
		numbered(1, 2, 3, 4, 5, 6, 20, 2000, 3000, 4000, 5000),
		numbered(0, 1, 3, 2000, 4000),
	}
	for size := 1; size < 16; size++ {
		for first := range lists {
			next := first
			got := read(size, func() []entry {
				next++
				return lists[next%len(lists)]
			})
			for _, always := range []string{"cpuinfo", "self", "3", "2000", "4000"} {
				if !slices.Contains(got, always) {
					t.Errorf("pieces of %d, from list %d: %q is not in %q", size, first, always, got)
				}
			}
			if once := slices.Compact(slices.Sorted(slices.Values(got))); len(once) != len(got) {
				t.Errorf("pieces of %d, from list %d: something is listed twice in %q", size, first, got)
			}
		}
	}
}

// TestHostileListing lists what a node says that has names in any order, and some twice.
func TestHostileListing(t *testing.T) {
	said := []Entry{{"5", 0, ""}, {"3", 0, ""}, {"x", 0, ""}, {"5", 0, ""}, {"..", 0, ""}, {"00", 0, ""}, {"4", 0, ""}, {"x", 0, ""}}
	for size := 1; size < 10; size++ {
		got := read(size, func() []entry { return listed(said) })
		if once := slices.Compact(slices.Sorted(slices.Values(got))); !slices.Equal(once, []string{"00", "3", "4", "5", "x"}) {
			t.Errorf("pieces of %d: %q", size, got)
		}
	}
}

// TestRecentListing has listings of one directory that overlap. A program that goes on gets what was there when
// it began, or later.
func TestRecentListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recent
		if _, ok := r.goOn(1); ok {
			t.Error("there is a listing that nobody has made")
		}
		slow, fast := r.begin(), r.begin()
		r.keep(fast, numbered(1, 2))
		r.keep(slow, numbered(1))
		if got, ok := r.goOn(1); !ok || len(got) != len(numbered(1, 2)) {
			t.Errorf("a program goes on with %v, %v", got, ok)
		}
		if _, ok := r.goOn(0); ok {
			t.Error("a program that begins gets an old listing")
		}
		time.Sleep(recently)
		if _, ok := r.goOn(1); ok {
			t.Error("a program that is slow, or has not begun, gets an old listing")
		}
	})
}

// TestListingIsNotKept lists directories again and again. The kernel, which does not ask to open them, must
// ask for their names each time.
func TestListingIsNotKept(t *testing.T) {
	m := mount(t)
	for range 3 {
		before, _ := m.names()
		young := ghosts(t, 1)[0].String()
		after, _ := m.names()
		if slices.Contains(before, young) || !slices.Contains(after, young) {
			t.Errorf("%s must be in the second listing of /proc only: %q, %q", young, before, after)
		}
	}
	m.names("bproc", "nodes")
	m.mu.Lock()
	m.gone = 7
	m.mu.Unlock()
	if names, _ := m.names("bproc", "nodes"); !slices.Equal(names, []string{"0"}) {
		t.Errorf("nodes without node 7: %q", names)
	}
	pid := os.Getpid()
	before, _ := m.names(pid, "task")
	stop := make(chan struct{})
	tid := make(chan int)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		tid <- unix.Gettid()
		<-stop
	}()
	young := strconv.Itoa(<-tid)
	defer close(stop)
	if after, _ := m.names(pid, "task"); !slices.Contains(after, young) {
		t.Errorf("thread %s is not in %q, before it were %q", young, after, before)
	}
}

// TestRewind lists /proc again by the same descriptor.
func TestRewind(t *testing.T) {
	m := mount(t)
	dir, err := os.Open(m.path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	before, err := dir.Readdirnames(-1)
	if err != nil {
		t.Fatal(err)
	}
	young := ghosts(t, 1)[0]
	if _, err := dir.Seek(0, unix.SEEK_SET); err != nil {
		t.Fatal(err)
	}
	after, err := dir.Readdirnames(-1)
	if err != nil || !slices.Contains(after, young.String()) || slices.Contains(before, young.String()) {
		t.Errorf("%v, %d names, then %d; %s must be in the second listing only", err, len(before), len(after), young)
	}
}

// TestPlaces takes up a listing at the position of a process, as telldir(3) and seekdir(3) do.
func TestPlaces(t *testing.T) {
	m := mount(t)
	pids := ghosts(t, 3)
	dir, err := unix.Open(m.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	from := func(pid wire.PID) []string {
		if _, err := unix.Seek(dir, numbers+int64(pid), unix.SEEK_SET); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4096)
		n, err := unix.Getdents(dir, b)
		if err != nil {
			t.Fatal(err)
		}
		_, _, names := unix.ParseDirent(b[:n], -1, nil)
		return names
	}
	for i, pid := range pids {
		if got := from(pid); slices.Contains(got, pid.String()) || i+1 < len(pids) && !slices.Contains(got, pids[i+1].String()) {
			t.Errorf("behind %d are %q", pid, got)
		}
	}
}
