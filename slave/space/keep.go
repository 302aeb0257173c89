package space

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// Keep gives bpinit descriptors to keep under a name, in place of those that it has under the name.
// Each later daemon gets them, until one drops the name. Their open files stay as they are. The
// caller may close the files when Keep has returned. Keep waits until they have been sent to
// bpinit, so it must be called after Run has begun.
//
// A name can have up to rights.MaxDescriptors descriptors. bpinit does not keep more than it can
// hold, and logs that.
func (s *Space) Keep(name string, files ...*os.File) error {
	if err := s.keep(name, files); err != nil {
		return fmt.Errorf("keep descriptors %q: %w", name, err)
	}
	return nil
}

func (s *Space) keep(name string, files []*os.File) error {
	if len(files) > rights.MaxDescriptors {
		return rights.ErrDescriptors
	}
	// File.Fd would make the file block.
	fds := make([]int, 0, len(files))
	defer func() { rights.Close(fds) }()
	for _, f := range files {
		fd, err := duplicate(f)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
	}
	return s.out.send(0, &wire.InitStore{Name: name}, fds)
}

func duplicate(f *os.File) (fd int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	var dupErr error
	err = raw.Control(func(own uintptr) { fd, dupErr = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(err, dupErr)
}

// Drop has bpinit close the descriptors that it keeps under a name.
func (s *Space) Drop(name string) error {
	if err := s.out.put(0, &wire.InitDrop{Name: name}); err != nil {
		return fmt.Errorf("drop descriptors %q: %w", name, err)
	}
	return nil
}

// Kept returns the descriptors that former daemons gave bpinit to keep. The caller closes the
// files; bpinit keeps its own.
func (s *Space) Kept() map[string][]*os.File {
	kept := s.kept
	s.kept = nil
	return kept
}

// receiveKept receives the descriptors that bpinit keeps.
func (s *Space) receiveKept(c *rights.Conn, count uint32) error {
	s.kept = make(map[string][]*os.File)
	for range count {
		m, _, fds, err := c.Read()
		if err != nil {
			return err
		}
		stored, ok := m.(*wire.InitStored)
		if !ok {
			rights.Close(fds)
			return fmt.Errorf("%w: type %d among stored descriptors", wire.ErrFrame, m.Type())
		}
		for _, fd := range fds {
			s.kept[stored.Name] = append(s.kept[stored.Name], os.NewFile(uintptr(fd), stored.Name))
		}
	}
	return nil
}

func (s *Space) closeKept() {
	for _, files := range s.Kept() {
		for _, f := range files {
			_ = f.Close() // nobody has used it
		}
	}
}

// Written returns when all requests so far are written: they will be carried out, whatever becomes
// of this daemon.
func (s *Space) Written() error {
	if err := s.out.written(); err != nil {
		return fmt.Errorf("requests to init: %w", err)
	}
	return nil
}

// Forget has bpinit forget how launched processes ended, or that their launches failed, since that
// is known where it must be. Otherwise each later daemon is told again. A launch with the same
// number forgets this, too; a Forget after that is about the later process.
func (s *Space) Forget(pids ...wire.PID) error {
	if err := s.out.put(0, &wire.InitForget{PIDs: pids}); err != nil {
		return fmt.Errorf("forget ended processes: %w", err)
	}
	return nil
}
