package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vmihailenco/msgpack/v5"
)

// A file is a line with its format, the length of the tables (8 bytes, little-endian), the tables
// in MessagePack and the SHA-256 of all of that. The changes since then follow (change.go). Format
// 1 has no length and no changes.
const (
	kind          = "bproc-state "
	firstFormat   = kind + "1\n"
	currentFormat = kind + "2\n"
	lengthSize    = 8
)

// errFormat is the error for a file of a format that this version does not know.
var errFormat = errors.New("it has another format than this master knows, and is of another version")

var errSum = errors.New("it is not as it was written: the checksum differs")

// encode returns the contents of a file with the tables.
func encode(t tables) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(t.size())
	b.WriteString(currentFormat)
	b.Write(make([]byte, lengthSize))
	if err := t.encode(msgpack.NewEncoder(&b)); err != nil {
		return nil, err
	}
	const begin = len(currentFormat) + lengthSize
	binary.LittleEndian.PutUint64(b.Bytes()[len(currentFormat):], uint64(b.Len()-begin))
	sum := sha256.Sum256(b.Bytes())
	b.Write(sum[:])
	return b.Bytes(), nil
}

// encode does what Encode would, in a fraction of its time.
func (t tables) encode(e *msgpack.Encoder) error {
	err := e.EncodeMapLen(len(t))
	for name, records := range t {
		err = errors.Join(err, e.EncodeString(name), e.EncodeMapLen(len(records)))
		for key, record := range records {
			err = errors.Join(err, e.EncodeString(key), e.EncodeBytes(record))
		}
	}
	return err
}

// decode returns the tables of a file, and where its changes begin: 0 in one of the first format.
// The error is errFormat for a file of another version.
func decode(data []byte) (t tables, end int, err error) {
	switch {
	case bytes.HasPrefix(data, []byte(currentFormat)):
		const begin = len(currentFormat) + lengthSize
		if len(data) < begin+sha256.Size {
			return nil, 0, errSum
		}
		length := binary.LittleEndian.Uint64(data[len(currentFormat):])
		if length > uint64(len(data)-begin-sha256.Size) {
			return nil, 0, errSum
		}
		end = begin + int(length) + sha256.Size
		t, err = decodeTables(data[:end], begin)
		return t, end, err
	case bytes.HasPrefix(data, []byte(firstFormat)) && len(data) >= len(firstFormat)+sha256.Size:
		t, err = decodeTables(data, len(firstFormat))
		return t, 0, err
	case !bytes.HasPrefix(data, []byte(kind)):
		return nil, 0, errors.New("it is no state of a master")
	}
	size := len(data) - sha256.Size
	if size < 0 || sha256.Sum256(data[:size]) != [sha256.Size]byte(data[size:]) {
		return nil, 0, errSum // also if the format is damaged
	}
	return nil, 0, errFormat
}

// decodeTables returns the tables between begin and the checksum at the end.
func decodeTables(data []byte, begin int) (tables, error) {
	size := len(data) - sha256.Size
	if sha256.Sum256(data[:size]) != [sha256.Size]byte(data[size:]) {
		return nil, errSum
	}
	t := tables{}
	if err := msgpack.Unmarshal(data[begin:size], &t); err != nil {
		return nil, err
	}
	return t, nil
}

// rewrite replaces the file by one with all records and no changes. After an error the file is the
// former one or, if only the last step has failed, the new one; the next rewrite replaces either.
func (s *Store) rewrite(t tables) error {
	data, err := encode(t)
	if err != nil {
		return err
	}
	next := s.path + ".new"
	f, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(next, s.path)
	}
	if err != nil {
		_ = os.Remove(next) // the next rewrite would replace it, too
		return errors.Join(err, f.Close())
	}
	s.close()
	s.file, s.end, s.sum = f, int64(len(data)), [sha256.Size]byte(data[len(data)-sha256.Size:])
	s.enough, s.changed = max(2*s.end, leastEnough), false
	return s.dir.Sync() // the new name is on disk
}

// read reads the store's file. A former rewrite that was not finished has left nothing in it. An
// unfinished change is cut off: it was not reported as done.
func (s *Store) read() error {
	_ = os.Remove(s.path + ".new") // left by a kill
	data, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	t, end, err := decode(data)
	if errors.Is(err, errFormat) {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	if err == nil && end > 0 {
		s.sum = [sha256.Size]byte(data[end-sha256.Size : end])
		var read int
		read, err = s.redo(t, data[end:])
		end, s.changed = end+read, read > 0
	}
	if err != nil {
		return &DamagedError{s.path, err}
	}
	if s.tables = t; end == 0 {
		return nil // the next change rewrites it
	}
	f, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	s.file, s.end, s.enough = f, int64(end), max(2*int64(end), leastEnough)
	if end < len(data) {
		return s.cut()
	}
	return nil
}

// refuseEarlier returns an error if a directory without a state has one of an earlier version,
// which kept it in another way.
func refuseEarlier(dir string) error {
	earlier := filepath.Join(dir, "state.db")
	if _, err := os.Stat(earlier); err != nil {
		return nil
	}
	return fmt.Errorf("%s is of an earlier version, which this master cannot read; move it away: then every node must join anew", earlier)
}
