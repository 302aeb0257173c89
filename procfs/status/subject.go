package status

import (
	"errors"
	"hash/maphash"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// subject is a process of which something is to be told.
type subject struct {
	pid     wire.PID
	is, was told
	dir     int         // its directory: all that is read is of one process; -1: not open
	texts   *wire.Texts // nil: it is gone
}

// readTogether is how many processes are read by one thread with the identity of
// everybody. Their directories are open meanwhile.
const readTogether = 128

// read reads what everybody may, of the process and of those of its threads that have
// changed.
func (s *subject) read(r *reader, proc int) (err error) {
	if s.dir, err = unix.Openat(proc, s.pid.String(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		s.dir = -1
		return err
	}
	r.dir = s.dir
	t, err := r.texts(s.pid)
	if err != nil {
		return err
	}
	t.Parent = s.is.parent
	if s.is.groups == 0 || s.is.groups != s.was.groups || s.is.start != s.was.start {
		if t.Cgroup, err = r.file(nil, "cgroup"); err != nil && !errors.Is(err, unix.ENOENT) { // there may be none
			return err
		}
	}
	if len(s.is.threads) > 1 {
		if err := s.readThreads(r, t); err != nil {
			return err
		}
	}
	s.texts = t
	return nil
}

func (s *subject) readThreads(r *reader, t *wire.Texts) error {
	before := map[wire.PID]thread{}
	if s.was.start == s.is.start && len(s.was.threads) > 1 {
		for _, th := range s.was.threads {
			before[th.tid] = th
		}
	}
	left := wire.MaxTexts
	for _, th := range s.is.threads[:min(len(s.is.threads), wire.MaxThreads)] {
		texts := wire.ThreadTexts{TID: th.tid}
		if before[th.tid] == th {
			texts.Same = true
		} else if left > 0 {
			if err := r.thread("task", &texts); isGone(err) {
				continue
			} else if err != nil {
				return err
			}
			left -= len(texts.Stat) + len(texts.Status)
		}
		t.Threads = append(t.Threads, texts)
	}
	return nil
}

// environ returns the environment that is to be told, nil if none is: it is as it was
// told, or only who asks for it may know it. The texts say which. It is read with the
// rights of the caller.
func (s *subject) environ(r *reader) []byte {
	r.dir = s.dir
	text, err := r.file(nil, "environ")
	if err != nil || text == nil || len(text) > wire.MaxEnviron || !s.owned() {
		return nil
	}
	if s.is.environ = max(1, maphash.Bytes(seed, text)); s.is.environ == s.was.environ && s.is.start == s.was.start {
		s.texts.Environ = wire.EnvironAsBefore
		return nil
	}
	return text
}

// owned reports whether the process still belongs to whom its texts say. If not, it has
// executed a set-uid program, whose environment may be what was read.
func (s *subject) owned() bool {
	var now unix.Stat_t
	err := unix.Fstatat(s.dir, "environ", &now, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && now.Uid == s.texts.UID && now.Gid == s.texts.GID
}

// close gives up its directory.
func (s *subject) close() {
	if s.dir >= 0 {
		_ = unix.Close(s.dir)
		s.dir = -1
	}
}
