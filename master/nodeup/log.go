package nodeup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"bproc/wire"
)

// maxLog bounds each of the two files of a log. When the newer file is full, it replaces the older.
const maxLog = 512 << 10

// piece is how much of a log is read at a time.
const piece = 32 << 10

// logs are the logs of all nodes, in a directory.
type logs struct {
	mu  sync.Mutex
	dir string
	of  map[wire.NodeID]*nodeLog
}

func (l *logs) setDir(dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if dir != l.dir {
		l.dir, l.of = dir, map[wire.NodeID]*nodeLog{}
	}
}

// node returns the log of a node.
func (l *logs) node(id wire.NodeID) *nodeLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.of[id]
	if n == nil {
		n = &nodeLog{path: filepath.Join(l.dir, "node."+strconv.Itoa(int(id))), grown: make(chan struct{})}
		l.of[id] = n
	}
	return n
}

// nodeLog is the log of a node.
type nodeLog struct {
	mu    sync.Mutex
	path  string
	turns int           // how often the newer file has become the older
	grown chan struct{} // closed when text is added
}

// Write adds to the log.
func (n *nodeLog) Write(text []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.add(text); err != nil {
		return 0, fmt.Errorf("log of a node: %w", err)
	}
	close(n.grown)
	n.grown = make(chan struct{})
	return len(text), nil
}

func (n *nodeLog) add(text []byte) error {
	if err := os.MkdirAll(filepath.Dir(n.path), 0o750); err != nil {
		return err
	}
	f, err := os.OpenFile(n.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Write(text)
	}
	err = errors.Join(err, f.Close())
	if err == nil && size+int64(len(text)) > maxLog {
		n.turns++
		err = os.Rename(n.path, n.old())
	}
	return err
}

func (n *nodeLog) old() string { return n.path + ".old" }

// note adds a line of the master.
func (n *nodeLog) note(format string, args ...any) error {
	_, err := fmt.Fprintf(n, "--- %s %s\n", time.Now().Format(time.DateTime), fmt.Sprintf(format, args...))
	return err
}

// reader is a place in a log.
type reader struct {
	log   *nodeLog
	turns int   // turns of the log when the file of this place was the newer one
	at    int64 // in that file
	begun bool
}

// next returns at most a piece of the text that follows. If there is none, grown is closed when
// there is more.
func (r *reader) next() (text []byte, grown <-chan struct{}, err error) {
	n := r.log
	n.mu.Lock()
	defer n.mu.Unlock()
	if !r.begun {
		r.begun, r.turns = true, n.turns-1 // the older file first
	}
	if r.turns < n.turns-1 {
		r.turns, r.at = n.turns-1, 0 // the text in between is lost
	}
	for {
		path := n.path
		if r.turns < n.turns {
			path = n.old()
		}
		if text, err = readAt(path, r.at); err != nil || len(text) > 0 || r.turns == n.turns {
			r.at += int64(len(text))
			return text, n.grown, err
		}
		r.turns, r.at = n.turns, 0
	}
}

// readAt reads a piece of a file, which may not be there.
func readAt(path string, at int64) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, piece)
	count, err := f.ReadAt(text, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text[:count], err
}

// ReadLog gives take the log of a node piece by piece. With follow it also gives what is added,
// until the context ends.
func (r *Runner) ReadLog(ctx context.Context, id wire.NodeID, follow bool, take func([]byte) error) error {
	place := &reader{log: r.logs.node(id)}
	for {
		text, grown, err := place.next()
		if err == nil && len(text) > 0 {
			err = take(text)
		}
		switch {
		case err != nil:
			return err
		case len(text) > 0:
			continue
		case !follow:
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil
		}
	}
}
