package status

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

// reader reads small files of procfs into one buffer. Only one goroutine may use it.
type reader struct {
	dir  int // descriptor of the directory of the files
	path []byte
	buf  []byte
}

func newReader(dir int) *reader {
	return &reader{dir: dir, buf: make([]byte, wire.MaxText+1)}
}

// file returns a copy of the content of a file; nil if it is too long.
func (r *reader) file(owner *unix.Stat_t, names ...string) ([]byte, error) {
	r.path = r.path[:0]
	for i, name := range names {
		if i > 0 {
			r.path = append(r.path, '/')
		}
		r.path = append(r.path, name...)
	}
	fd, err := unix.Openat(r.dir, string(r.path), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if owner != nil {
		if err := unix.Fstat(fd, owner); err != nil {
			return nil, err
		}
	}
	// A file of procfs returns everything in one read that is large enough (fs/seq_file.c).
	n, err := retry(func() (int, error) { return unix.Read(fd, r.buf) })
	if err != nil || n > wire.MaxText {
		return nil, err
	}
	return bytes.Clone(r.buf[:n]), nil
}

// retry makes a system call again when a signal has interrupted it.
func retry(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// texts returns the texts for all users of the process in the reader's directory, without cmdline,
// threads and control groups.
func (r *reader) texts(pid wire.PID) (*wire.Texts, error) {
	t := &wire.Texts{PID: pid, Environ: wire.EnvironNotTold}
	var owner unix.Stat_t
	for _, file := range []struct {
		text  *[]byte
		name  string
		owner *unix.Stat_t
	}{
		{&t.Stat, "stat", &owner},
		{&t.Status, "status", nil},
		{&t.Statm, "statm", nil},
	} {
		var err error
		if *file.text, err = r.file(file.owner, file.name); err != nil {
			return nil, err
		}
	}
	t.UID, t.GID = owner.Uid, owner.Gid
	var ok bool
	if t.Start, ok = procstat.Stat(t.Stat).Uint(procstat.Start); !ok {
		return nil, unix.ESRCH
	}
	return t, nil
}

// thread fills in the texts for all users of a thread. Task is the directory of all threads of its
// process.
func (r *reader) thread(task string, t *wire.ThreadTexts) (err error) {
	tid := t.TID.String()
	if t.Stat, err = r.file(nil, task, tid, "stat"); err != nil {
		return err
	}
	t.Status, err = r.file(nil, task, tid, "status")
	return err
}
