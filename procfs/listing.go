package procfs

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// entry is a name in a directory, with the type bits of its mode, and the position behind it. A program
// that goes on with a listing gets what is behind its position now: the kernel does not say who lists.
type entry struct {
	name   string
	mode   uint32
	behind uint64
}

// Positions in a directory. As in the kernel's /proc, numbers have positions of their own, so that a number
// is listed though others have come or gone meanwhile. 32-bit programs can use these positions.
const (
	dots    = 2       // behind "." and "..", which all directories begin with
	numbers = 1 << 16 // of the number 0
)

// withDots are the names that all directories begin with.
var withDots = inOrder(0, []entry{{name: ".", mode: unix.S_IFDIR}, {name: "..", mode: unix.S_IFDIR}})

// inOrder sets positions by the order of the entries.
func inOrder(from uint64, entries []entry) []entry {
	for i := range entries {
		entries[i].behind = from + uint64(i) + 1
	}
	return entries
}

// numbersLast sets positions by the order of the names that are no numbers, and behind these by number. It
// returns the entries in that order.
func numbersLast(entries []entry) []entry {
	names := uint64(dots)
	for i, e := range entries {
		if n := number(e.name); n != 0 || e.name == "0" {
			entries[i].behind = numbers + uint64(n)
		} else {
			names++
			entries[i].behind = names
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.behind, b.behind) })
	return entries
}

// rest returns those of the entries, in the order of their positions, that are behind a position.
func rest(entries []entry, position uint64) []entry {
	return entries[sort.Search(len(entries), func(i int) bool { return entries[i].behind > position }):]
}

// recent is the latest listing of a directory, for programs that go on with one. The zero value has none.
type recent struct {
	mu      sync.Mutex
	last    uint64 // listing that has begun
	kept    uint64 // listing that is kept
	entries []entry
	at      time.Time
}

// recently is how long programs can go on with a listing. Then there is another.
const recently = time.Second

// goOn returns the listing, if it is new enough for a position.
func (r *recent) goOn(position uint64) ([]entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries, position > 0 && r.entries != nil && time.Since(r.at) < recently
}

// begin returns the number of a new listing.
func (r *recent) begin() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	return r.last
}

// keep keeps a listing, unless a newer one is kept: whoever goes on must find all that was there when it began.
func (r *recent) keep(listing uint64, entries []entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if listing > r.kept {
		r.kept, r.entries, r.at = listing, entries, time.Now()
	}
}
