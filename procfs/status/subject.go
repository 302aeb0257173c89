package status

import (
	"errors"
	"hash/maphash"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// subject is a process to report.
type subject struct {
	pid     wire.PID
	is, was told
	dir     int         // its directory: all texts come from one process; -1: not open
	texts   *wire.Texts // nil: it has ended
}

// readTogether is the number of processes that one thread reads with the identity of everybody.
// Their directories are open meanwhile.
const readTogether = 128

// read reads the texts for all users, of the process and of its changed threads.
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
		if t.Cgroup, err = r.file(nil, "cgroup"); err != nil && !errors.Is(err, unix.ENOENT) { // the file may not exist
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

// environ returns the environment to send; nil if it is unchanged or only its reader may know it.
// It sets texts.Environ accordingly. It reads with the caller's rights.
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

// owned reports whether the process still belongs to the owner of its texts. If not, it has
// executed a set-uid program, whose environment may have been read.
func (s *subject) owned() bool {
	var now unix.Stat_t
	err := unix.Fstatat(s.dir, "environ", &now, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && now.Uid == s.texts.UID && now.Gid == s.texts.GID
}

// close closes its directory.
func (s *subject) close() {
	if s.dir >= 0 {
		_ = unix.Close(s.dir)
		s.dir = -1
	}
}
