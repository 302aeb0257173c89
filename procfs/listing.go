package procfs

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// entry is a name in a directory, with the type bits of its mode, and the position behind it. The kernel does not
// say which program lists. So a program that continues a listing gets what is behind its position now.
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

// inOrder numbers the positions of entries in their order.
func inOrder(from uint64, entries []entry) []entry {
	for i := range entries {
		entries[i].behind = from + uint64(i) + 1
	}
	return entries
}

// numbersLast gives names that are no numbers the first positions, in their order, and numbers the positions of
// their values. It returns the entries in the order of positions.
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

// rest returns the entries behind a position. They must be in the order of positions.
func rest(entries []entry, position uint64) []entry {
	return entries[sort.Search(len(entries), func(i int) bool { return entries[i].behind > position }):]
}

// recent is the latest listing of a directory, for programs that continue one. The zero value is empty.
type recent struct {
	mu      sync.Mutex
	last    uint64 // listing that has begun
	kept    uint64 // listing that is kept
	entries []entry
	at      time.Time
}

// recently is how long programs can continue a listing. After that, another is made.
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

// keep keeps a listing, unless a newer one is kept: a program that continues a listing must find everything that
// was there when it began.
func (r *recent) keep(listing uint64, entries []entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if listing > r.kept {
		r.kept, r.entries, r.at = listing, entries, time.Now()
	}
}
