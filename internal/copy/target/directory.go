package target

import (
	"errors"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

// ownerAll are the rights that the owner of a directory needs to fill it.
const ownerAll = 0o700

// enter makes a directory, unless it exists, and enters it.
func (r *reception) enter(p place, e *stream.Entry) error {
	d := &directory{path: p.path, entry: e, below: join(p.dir.below, p.name)}
	name := p.name
	if name == stream.Here {
		d.below = ""
	} else {
		err := unix.Mkdirat(p.dir.fd, name, e.Mode&0o777|ownerAll)
		d.made = err == nil
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	var err error
	// Not O_PATH: leave sets attributes by this descriptor.
	d.fd, err = ignoringEINTR(func() (int, error) {
		return unix.Openat(p.dir.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return errors.New("is not a directory, and is not replaced by one")
	}
	if err != nil {
		return err
	}
	r.dirs = append(r.dirs, d)
	return nil
}

// leave sets the attributes of the current directory, after its contents are made.
func (r *reception) leave() error {
	if r.skipped > 0 {
		r.skipped--
		return nil
	}
	d := r.here()
	r.dirs = r.dirs[:len(r.dirs)-1]
	defer unix.Close(d.fd)
	var err error
	switch mode := d.entry.Mode & 0o777; {
	case r.Preserve:
		err = r.preserve(d.fd, d.path, d.entry)
	case d.made && mode&ownerAll != ownerAll:
		err = unix.Fchmod(d.fd, mode&^r.umask)
	}
	return r.problem(d.path, err)
}
