package procevents

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Indexes of Files: the maps, then the links that keep the programs attached.
const (
	fileRing = iota
	fileNotices
	fileControls
	fileLinks
	allFiles = fileLinks + 5
)

// Layout names the layout of records and the order of Files. Files of a daemon with another layout
// cannot be used.
const Layout = 1

// addFile adds a duplicate of a descriptor to s.files.
func (s *Source) addFile(owner any) error {
	o, ok := owner.(interface{ FD() int })
	if !ok {
		return errors.New("the kernel has no BPF links (Linux 5.8)")
	}
	fd, err := unix.FcntlInt(uintptr(o.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("duplicate a BPF descriptor: %w", err)
	}
	s.files = append(s.files, os.NewFile(uintptr(fd), "bpf"))
	return nil
}

// descriptor returns the descriptor of a file, and does not change the file's blocking mode.
func descriptor(f *os.File) (fd int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1
	}
	if raw.Control(func(own uintptr) { fd = int(own) }) != nil {
		return -1
	}
	return fd
}

// Files returns the files that keep the programs attached and the records in their ring for as long
// as a process has them open. They stay the Source's.
func (s *Source) Files() []*os.File { return s.files }

// Reopen goes on with the Files of a Source of a former daemon, which it owns from now on. cfg is
// as it was given to Open. Records that were not released come again.
func Reopen(cfg Config, files []*os.File) (*Source, error) {
	if cfg.Ring == 0 {
		cfg.Ring = DefaultRing
	}
	s := &Source{files: files}
	err := error(nil)
	if len(files) != allFiles {
		err = fmt.Errorf("%d descriptors of process events, not %d", len(files), allFiles)
	} else {
		err = s.begin(cfg)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
