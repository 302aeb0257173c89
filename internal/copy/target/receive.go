package target

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

// ErrFatal is the error of a target on which nothing more can be made. The cause was reported.
var ErrFatal = errors.New("nothing more can be copied here")

// reception is the reception of one stream.
type reception struct {
	*Target
	dirs    []*directory // entered directories; the first is the target's own
	skipped int          // entered directories that were not made
	file    *file        // being written; nil: none, or it could not be made
	links   map[uint64]original
	names   map[string]bool // Names
	whole   int64           // bytes of the files before the current one
	warned  bool
}

// directory is a directory that was entered.
type directory struct {
	fd    int
	path  string
	below string // path relative to the target's directory
	entry *stream.Entry
	made  bool
}

// original is a file to which hard links may follow.
type original struct {
	dir      string // path relative to the target's directory
	name     string
	dev, ino uint64
}

// Receive makes the files of a stream. It reports problems of single files and continues. The error
// is that of the stream, or [ErrFatal].
func (t *Target) Receive(from *stream.Reader) (err error) {
	r := &reception{Target: t, links: map[uint64]original{}, names: make(map[string]bool, len(t.Names))}
	for _, name := range t.Names {
		r.names[name] = true
	}
	r.dirs = []*directory{{fd: t.dir, path: t.prefix}}
	defer r.close()
	for {
		record, err := from.Next()
		if err != nil {
			return err
		}
		switch record := record.(type) {
		case *stream.Entry:
			err = r.entry(record)
		case stream.Data:
			err = r.data(record)
		case stream.Close:
			err = r.finish(record)
		case stream.Leave:
			err = r.leave()
		case stream.End:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// close discards an incomplete file and leaves all directories.
func (r *reception) close() {
	if r.file != nil {
		r.file.discard()
	}
	for _, d := range r.dirs[1:] {
		unix.Close(d.fd)
	}
}

// here returns the current directory.
func (r *reception) here() *directory { return r.dirs[len(r.dirs)-1] }

// problem reports an error of a file. Errors that concern the whole file system end the reception.
func (r *reception) problem(path string, err error) error {
	if err == nil {
		return nil
	}
	r.Problem(path, err)
	for _, fatal := range []error{unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EIO} {
		if errors.Is(err, fatal) {
			return fmt.Errorf("%w: %w", ErrFatal, err)
		}
	}
	return nil
}

// place is the place of an entry.
type place struct {
	dir  *directory
	name string
	path string // for messages
}

// place returns the place of an entry.
func (r *reception) place(e *stream.Entry) place {
	d, name := r.here(), e.Name
	if len(r.dirs) == 1 && r.rename != "" {
		return place{d, r.rename, r.Path}
	}
	return place{d, name, join(d.path, name)}
}

func (r *reception) entry(e *stream.Entry) error {
	if r.skipped > 0 {
		if e.Kind == stream.Directory {
			r.skipped++
		}
		return nil
	}
	p := r.place(e)
	var err error
	if len(r.dirs) == 1 && !r.asked(e) {
		if e.Kind == stream.Directory {
			r.skipped++
		}
		return r.problem(join(r.prefix, e.Name), errors.New("was sent, but not asked for"))
	}
	if r.isDir && len(r.dirs) == 1 && e.Kind != stream.Directory {
		return r.problem(r.Path, errors.New("no such directory"))
	}
	switch e.Kind {
	case stream.Directory:
		if err = r.enter(p, e); err != nil {
			r.skipped++
		}
	case stream.File:
		r.file, err = r.create(p, e)
	case stream.HardLink:
		err = r.hardLink(p, e)
	default:
		err = r.special(p, e)
	}
	return r.problem(p.path, err)
}

// asked reports whether an entry was requested.
func (r *reception) asked(e *stream.Entry) bool {
	regular := e.Kind == stream.File || e.Kind == stream.HardLink
	return (r.Names == nil || r.names[e.Name]) && (r.Recursive || regular)
}

// data writes bytes of the current file.
func (r *reception) data(d stream.Data) error {
	r.tell(d.Offset + int64(len(d.Bytes)))
	if r.file == nil {
		return nil
	}
	err := r.file.write(d.Offset, d.Bytes)
	if err == nil {
		return nil
	}
	path := r.file.place.path
	r.file.discard()
	r.file = nil
	return r.problem(path, err)
}

// tell reports the progress, including current bytes of the current file.
func (r *reception) tell(current int64) {
	if r.Written != nil {
		r.Written(r.whole + current)
	}
}

// finish completes the current file.
func (r *reception) finish(c stream.Close) error {
	r.whole += c.Size
	r.tell(0)
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	if !c.OK {
		f.discard()
		return nil
	}
	err := r.complete(f, c.Size)
	if err != nil {
		f.discard()
	}
	return r.problem(f.place.path, err)
}

func join(parent, name string) string {
	if name == stream.Here {
		return parent
	}
	if parent == "" || strings.HasSuffix(parent, "/") {
		return parent + name
	}
	return parent + "/" + name
}
