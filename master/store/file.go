package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vmihailenco/msgpack/v5"
)

// A file is a line with its format, the tables in MessagePack, and the SHA-256 of both.
const (
	kind          = "bproc-state "
	currentFormat = kind + "1\n"
)

// errFormat is the error for a file of a format that this version does not know.
var errFormat = errors.New("it has another format than this master knows, and is of another version")

// encode returns what a file with the tables has.
func encode(t tables) ([]byte, error) {
	data, err := msgpack.Marshal(t)
	if err != nil {
		return nil, err
	}
	data = append([]byte(currentFormat), data...)
	sum := sha256.Sum256(data)
	return append(data, sum[:]...), nil
}

// decode returns the tables of a file. The error is errFormat for a file that is whole and of
// another version.
func decode(data []byte) (tables, error) {
	size := len(data) - sha256.Size
	if size < len(kind) || !bytes.HasPrefix(data, []byte(kind)) {
		return nil, errors.New("it is no state of a master")
	}
	if sum := sha256.Sum256(data[:size]); !bytes.Equal(sum[:], data[size:]) {
		return nil, errors.New("it is not as it was written: the checksum differs")
	}
	body, ok := bytes.CutPrefix(data[:size], []byte(currentFormat))
	if !ok {
		return nil, errFormat
	}
	t := tables{}
	if err := msgpack.Unmarshal(body, &t); err != nil {
		return nil, err
	}
	return t, nil
}

// write replaces the file. After an error the file is the former one or, if only the last
// step has failed, the new one; the next write replaces either.
func (s *Store) write(t tables) error {
	data, err := encode(t)
	if err != nil {
		return err
	}
	next := s.path + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(next, s.path)
	}
	if err != nil {
		_ = os.Remove(next) // the next write would replace it, too
		return err
	}
	return s.dir.Sync() // the new name is on disk
}

// read returns the tables of the store's file. A former write that did not come to its end has
// left nothing in it.
func (s *Store) read() (tables, error) {
	_ = os.Remove(s.path + ".new") // a kill has left it
	data, err := os.ReadFile(s.path)
	if err != nil {
		return nil, err
	}
	t, err := decode(data)
	if errors.Is(err, errFormat) {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	if err != nil {
		return nil, &DamagedError{s.path, err}
	}
	return t, nil
}

// refuseEarlier returns an error if a directory without a state has one of an earlier version,
// which kept it otherwise.
func refuseEarlier(dir string) error {
	earlier := filepath.Join(dir, "state.db")
	if _, err := os.Stat(earlier); err != nil {
		return nil
	}
	return fmt.Errorf("%s is of an earlier version, which this master cannot read; move it away: then every node must join anew", earlier)
}
