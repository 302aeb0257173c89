package status

import (
	"bytes"
	"errors"
	"hash/maphash"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// subject is a process to report.
type subject struct {
	pid     wire.PID
	is, was told
	dir     int         // its directory: all texts come from one process; -1: not open
	texts   *wire.Texts // nil: it has ended
	environ []byte      // to send; nil: none
}

// owned returns the process with its user.
func (s *subject) owned() owned { return owned{s.pid, s.is.start, s.user()} }

// user returns the real user of the process. The owner of its files is another where the process
// wants that (PR_SET_DUMPABLE of prctl(2)); it is taken where there is no other.
func (s *subject) user() uint32 {
	_, rest, _ := bytes.Cut(s.texts.Status, []byte("\nUid:"))
	word, _, _ := bytes.Cut(bytes.TrimLeft(rest, "\t "), []byte("\t"))
	uid, err := strconv.ParseUint(string(word), 10, 32)
	if err != nil {
		return s.texts.UID
	}
	return uint32(uid)
}

// readTogether is the number of processes that one thread reads with the identity of everybody.
// Their directories are open meanwhile.
const readTogether = 128

// read reads the texts for all users, of the process and of its changed threads, except cmdline.
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

// takeCmdline takes the text of cmdline. If the memory is locked the text is empty: nil would make
// the viewer read it.
func (s *subject) takeCmdline(text []byte, err error) {
	if s.texts.Cmdline = text; errors.Is(err, errLocked) {
		s.texts.Cmdline = []byte{}
		s.is.locked, s.is.uid = true, s.user()
	} else if err != nil {
		s.texts = nil
	}
}

// takeEnviron takes the environment, and sets texts.Environ. It is not sent if it is unchanged or
// only its reader may know it. If the memory is locked it is unchanged, or else empty, so that the
// viewer does not read it.
func (s *subject) takeEnviron(text []byte, err error) {
	before := s.is.start == s.was.start
	if errors.Is(err, errLocked) {
		s.is.locked, s.is.uid = true, s.user()
		if before && s.was.environ != 0 {
			s.is.environ, s.texts.Environ = s.was.environ, wire.EnvironAsBefore
		} else {
			s.environ = []byte{}
		}
		return
	}
	if err != nil || text == nil || len(text) > wire.MaxEnviron || !s.sameOwner() {
		return
	}
	if s.is.environ = max(1, maphash.Bytes(seed, text)); before && s.is.environ == s.was.environ {
		s.texts.Environ = wire.EnvironAsBefore
	} else {
		s.environ = text
	}
}

// sameOwner reports whether the process still belongs to the owner of its texts. If not, it has
// executed a set-uid program, whose environment may have been read.
func (s *subject) sameOwner() bool {
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
