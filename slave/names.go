package slave

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/internal/hosts"
	"bproc/wire"
)

// hostsPath is the file in which programs look up names (hosts(5)).
const hostsPath = "/etc/hosts"

// maxHosts bounds the node's own file.
const maxHosts = 16 << 20

// names keeps the file that processes of the space see as /etc/hosts. It has the lines of the
// node's own file and the names of the cluster. It is written in place, since a file is mounted and
// not a name. A program that reads a long one meanwhile in several pieces may get a piece of the old
// lines and then one of the new.
type names struct {
	log   *slog.Logger
	own   string       // the node's file
	file  string       // the file that the space sees
	cover func() error // mounts file over hostsPath in the space

	mu    sync.Mutex
	table *hosts.Table // from the master's last message; nil: none
}

func newNames(cfg Config, cover func(file, at string) error, log *slog.Logger) *names {
	n := &names{log: log, own: filepath.Join(cfg.Root, hostsPath), file: filepath.Join(cfg.Runtime, "hosts")}
	n.cover = func() error { return cover(n.file, hostsPath) }
	return n
}

// begin makes the file, with the names that a former daemon knew.
func (n *names) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if former, err := os.ReadFile(n.file); err == nil {
		n.table = hosts.Read(former)
	}
	n.writeLocked()
}

// hear takes in the names that the master sends.
func (n *names) hear(m *wire.Names) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	table, err := hosts.Heard(m, n.table)
	if err != nil {
		return err
	}
	n.table = table
	n.writeLocked()
	return nil
}

// ownChanged takes in a change of the node's file.
func (n *names) ownChanged() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writeLocked()
}

// writeLocked writes the file and mounts it. If that fails the node runs processes all the same,
// without these names.
func (n *names) writeLocked() {
	own, err := readHosts(n.own)
	if err == nil {
		err = overwrite(n.file, hosts.Join(own, n.table))
	}
	if err == nil {
		err = n.cover()
	}
	if err != nil {
		n.log.Warn("processes do not know the names of the cluster's machines", "err", err)
	}
}

func readHosts(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHosts+1))
	if err == nil && len(text) > maxHosts {
		err = fmt.Errorf("%s has more than %d bytes", path, maxHosts)
	}
	return text, err
}

// overwrite sets the content of a file, unless it has it already. If there is no room for it, the
// file keeps its content: a line that is cut off could give a name another machine's address.
func overwrite(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if was, err := io.ReadAll(f); err != nil || bytes.Equal(was, text) {
		return err
	}
	if err := f.Chmod(0o644); err != nil { // whatever the umask is
		return err
	}
	if err := reserve(f, len(text)); err != nil {
		return err
	}
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// reserve makes sure that there is room for the content of a file, where its file system can do that
// (fallocate(2)); tmpfs can.
func reserve(f *os.File, size int) error {
	if size == 0 {
		return nil
	}
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, int64(size))
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("room for %s: %w", f.Name(), err)
	}
	return nil
}

// unwatched is logged when changes of the node's own file cannot be followed.
const unwatched = "what is changed in the node's own file of names is seen when nodes come"

// run follows changes of the node's own file, until the context ends.
func (n *names) run(ctx context.Context) error {
	events, err := watchNames(filepath.Dir(n.own))
	if err != nil {
		n.log.Warn(unwatched, "err", err)
		return nil
	}
	stop := context.AfterFunc(ctx, func() { events.Close() })
	defer stop()
	buf := make([]byte, 4096)
	for {
		count, err := events.Read(buf)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			n.log.Warn(unwatched, "err", errors.Join(err, events.Close()))
			return nil
		case mentions(buf[:count], filepath.Base(n.own)):
			n.ownChanged()
		}
	}
}

// watchNames watches the names in a directory (inotify(7)).
func watchNames(dir string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_CREATE|unix.IN_ONLYDIR); err != nil {
		return nil, errors.Join(fmt.Errorf("watch %s: %w", dir, err), events.Close())
	}
	return events, nil
}

// mentions reports whether one of the events is about name, or whether events were lost.
func mentions(events []byte, name string) bool {
	for len(events) >= unix.SizeofInotifyEvent {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&events[0]))
		rest := unix.SizeofInotifyEvent + int(e.Len)
		if rest > len(events) {
			return true
		}
		about := bytes.TrimRight(events[unix.SizeofInotifyEvent:rest], "\x00")
		if e.Mask&unix.IN_Q_OVERFLOW != 0 || string(about) == name {
			return true
		}
		events = events[rest:]
	}
	return false
}
