package recording

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Bounds of a ring: the size of a file in bytes, and the number of files.
const (
	FileSize = 8 << 20
	Files    = 16
)

// Ring keeps the last inputs of a core in the files of a directory. Only root can read them, since
// they contain arguments and environments of commands. A failed write ends the ring. A nil Ring
// keeps nothing.
type Ring struct {
	dir   string
	ended func(error)
	file  *os.File
	size  int64
	last  int // number of the file
	err   error
}

// NewRing returns a ring in a directory, which it makes. Files of a former daemon stay until it is
// their turn to be removed. If an input cannot be kept, ended is called with the reason, once.
func NewRing(dir string, ended func(error)) (*Ring, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	r := &Ring{dir: dir, ended: ended}
	for _, name := range r.names() {
		_, _ = fmt.Sscanf(filepath.Base(name), "inputs.%d", &r.last) // a name without a number does not belong to the ring
	}
	return r, r.next()
}

// Paths returns the files of a directory with a ring, the oldest first.
func Paths(dir string) []string { return (&Ring{dir: dir}).names() }

func (r *Ring) names() []string {
	all, _ := filepath.Glob(filepath.Join(r.dir, "inputs.[0-9]*"))
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return all
}

// next begins the next file, and removes the oldest files over the limit.
func (r *Ring) next() error {
	r.last++
	f, err := os.OpenFile(filepath.Join(r.dir, fmt.Sprintf("inputs.%d", r.last)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if r.file != nil {
		r.file.Close()
	}
	r.file, r.size = f, 0
	for names := r.names(); len(names) > Files; names = names[1:] {
		if err := os.Remove(names[0]); err != nil {
			return err
		}
	}
	return nil
}

// Begin keeps a configuration.
func (r *Ring) Begin(now time.Time, config any) { r.keep(Begin, now, config) }

// Input keeps an input.
func (r *Ring) Input(now time.Time, in any) { r.keep(Line, now, in) }

func (r *Ring) keep(line func(time.Time, any) (string, error), now time.Time, v any) {
	if r == nil || r.err != nil {
		return
	}
	text, err := line(now, v)
	if err == nil && r.size > 0 && r.size+int64(len(text)) > FileSize {
		err = r.next()
	}
	if err == nil {
		r.size += int64(len(text))
		_, err = r.file.WriteString(text)
	}
	if r.err = err; err != nil {
		r.ended(err)
	}
}
