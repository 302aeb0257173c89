package status

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

// Fetch reads from procfs as the user whom the request names, and returns the result in pieces. An
// errno of the kernel is in the last piece; the returned error is that of give.
func (c *Collector) Fetch(f *wire.Fetch, give func(*wire.Piece) error) error {
	dir, path, err := locate(f.PID, f.Path, c.cfg.Inner)
	var giveErr error
	if err == nil {
		who := Identity{UID: f.UID, GID: f.GID, Groups: f.Groups}
		err = who.do(func() error {
			return c.fetch(f, dir, path, func(p *wire.Piece) error {
				giveErr = give(p)
				return giveErr
			})
		})
	}
	if giveErr != nil {
		return giveErr
	}
	last := &wire.Piece{Last: true}
	if err != nil {
		var errno unix.Errno
		if !errors.As(err, &errno) {
			errno = unix.EIO
		}
		last.Errno = uint32(errno)
	}
	return give(last)
}

func (c *Collector) fetch(f *wire.Fetch, dir, path string, give func(*wire.Piece) error) error {
	// A number that is used again does not lead to another process: the descriptor stays that of
	// the process whose start is compared.
	at, err := unix.Openat(int(c.cfg.Proc.Fd()), dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if f.PID != 0 && f.Start != 0 {
		stat, err := newReader(at).file(nil, "stat")
		if err != nil {
			return err
		}
		if start, ok := procstat.Stat(stat).Uint(procstat.Start); !ok || start != f.Start {
			return unix.ESRCH
		}
	}
	switch f.Kind {
	case wire.FetchFile:
		if f.PID != 0 && c.locked.hasFile(f.PID, path) {
			return unix.EAGAIN
		}
		return fetchFile(at, path, give)
	case wire.FetchLink:
		text, err := linkText(at, path)
		if err != nil {
			return err
		}
		return give(&wire.Piece{Data: []byte(text)})
	case wire.FetchList:
		return fetchList(at, path, give)
	}
	return unix.EINVAL
}

// open opens a file below a directory, on the same mount and without following links.
func open(at int, path string, flags uint64) (*os.File, error) {
	fd, err := unix.Openat2(at, path, &unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func fetchFile(at int, path string, give func(*wire.Piece) error) error {
	file, err := open(at, path, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	buf := make([]byte, wire.MaxData)
	for left := wire.MaxFetch; left > 0; {
		n, err := file.Read(buf[:min(left, len(buf))])
		if n > 0 {
			if err := give(&wire.Piece{Data: buf[:n]}); err != nil {
				return err
			}
			left -= n
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// maxLink bounds the text of a link, in bytes (PATH_MAX).
const maxLink = 4096

func linkText(at int, path string) (string, error) {
	link, err := open(at, path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer link.Close()
	return readlink(int(link.Fd()), "")
}

func readlink(at int, name string) (string, error) {
	buf := make([]byte, maxLink)
	n, err := unix.Readlinkat(at, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// entries is the number of names in a piece.
const entries = 128

func fetchList(at int, path string, give func(*wire.Piece) error) error {
	dir, err := open(at, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer dir.Close()
	for left := wire.MaxFetch; left > 0; {
		list, err := dir.ReadDir(entries)
		piece := &wire.Piece{}
		for _, e := range list {
			entry := wire.Entry{Name: e.Name(), Type: direntType(e.Type())}
			if entry.Type == unix.DT_LNK {
				entry.Target, _ = readlink(int(dir.Fd()), e.Name()) // not permitted, or gone: empty
			}
			left -= len(entry.Name) + len(entry.Target)
			piece.Entries = append(piece.Entries, entry)
		}
		if len(list) > 0 {
			if err := give(piece); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("list %s: %w", path, err)
		}
	}
	return nil
}

// direntType returns the type of a file as in getdents64(2).
func direntType(mode fs.FileMode) uint8 {
	switch {
	case mode.IsRegular():
		return unix.DT_REG
	case mode.IsDir():
		return unix.DT_DIR
	case mode.Type() == fs.ModeSymlink:
		return unix.DT_LNK
	}
	return unix.DT_UNKNOWN
}
