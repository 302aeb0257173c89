package place

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Home is the node of a job, held for one of its processes. While a process is on the node, all
// others must go there, too. The file has the number of the node. Every process on the node holds a
// read lock of the file, which tells whether there is any.
type Home struct{ file *os.File }

// Close records that the process has left the node.
func (h *Home) Close() error { return h.file.Close() }

// Settle chooses the node for a process. It calls choose with the node of the job's other
// processes, or nil if there are none. Only one process of a job chooses at a time.
func (p Process) Settle(ctx context.Context, choose func(others *wire.NodeID) (wire.NodeID, error)) (*Home, wire.NodeID, error) {
	fail := func(err error) (*Home, wire.NodeID, error) {
		return nil, 0, fmt.Errorf("node of job %s: %w", p.Name, err)
	}
	turn, err := openLock(filepath.Join(p.runDir(), ".choice"))
	if err == nil {
		err = takeTurn(ctx, turn)
	}
	defer turn.Close()
	if err != nil {
		return fail(err)
	}
	f, err := openLock(filepath.Join(p.runDir(), ".home"))
	if err != nil {
		f.Close()
		return fail(err)
	}
	others, err := inhabited(f)
	if err == nil {
		err = take(f, unix.F_OFD_SETLK, unix.F_RDLCK)
	}
	if err != nil {
		f.Close()
		return fail(err)
	}
	node, err := choose(others)
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	if others == nil || *others != node {
		if err := rewrite(f, node.String()); err != nil {
			f.Close()
			return fail(err)
		}
	}
	return &Home{f}, node, nil
}

// rewrite replaces the text of a file, which a full disk leaves as it is.
func rewrite(f *os.File, text string) error {
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// inhabited returns the node of the job's other processes, or nil.
func inhabited(f *os.File) (*wire.NodeID, error) {
	err := take(f, unix.F_OFD_SETLK, unix.F_WRLCK)
	if err == nil {
		return nil, nil //nolint:nilnil // nobody is anywhere
	}
	if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
		return nil, err
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // the file is damaged
	}
	node := wire.NodeID(id)
	return &node, nil
}
