package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/vmihailenco/msgpack/v5"
	"golang.org/x/sys/unix"
)

// A change in the file:
//
//	length of the body   4 bytes, little-endian
//	its CRC-32           4 bytes, of these four
//	body                 MessagePack: table, records; nil for one that is removed
//	SHA-256              of the one before in the file, and of this change up to here
//
// A change whose bytes are not all there was not finished: the file ends within it. Any other that
// differs from what was written is damage. The checksum of each change covers that of the one
// before, so none can be missing in between.
const changeHeader = 8

// leastEnough is the length that a file may reach in any case before it is rewritten.
const leastEnough = 64 << 10

var errUnfinished = errors.New("the file ends within a change")

// change is a set of records to put into a table, or to remove.
type change struct {
	table   string
	records map[string][]byte
}

// appendChange appends a change to bytes for the file, after one with the checksum before. It also
// returns its own checksum.
func appendChange(b []byte, before [sha256.Size]byte, c change) ([]byte, [sha256.Size]byte, error) {
	var body bytes.Buffer
	e := msgpack.NewEncoder(&body)
	err := errors.Join(e.EncodeString(c.table), e.EncodeMapLen(len(c.records)))
	for name, record := range c.records {
		err = errors.Join(err, e.EncodeString(name), e.EncodeBytes(record)) // nil for nil
	}
	from := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(body.Len()))
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[from:]))
	b = append(b, body.Bytes()...)
	sum := sumOf(before, b[from:])
	return append(b, sum[:]...), sum, err
}

func sumOf(before [sha256.Size]byte, b []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(before[:])
	h.Write(b)
	h.Sum(sum[:0])
	return sum
}

// redo makes the changes that follow the tables in a file. It returns how many bytes the finished
// changes have.
func (s *Store) redo(t tables, data []byte) (read int, err error) {
	for {
		c, size, sum, err := parseChange(s.sum, data[read:])
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errUnfinished):
			return read, nil
		case err != nil:
			return read, err
		}
		t.apply(c)
		s.sum = sum
		read += size
	}
}

func parseChange(before [sha256.Size]byte, data []byte) (c change, size int, sum [sha256.Size]byte, err error) {
	switch {
	case len(data) == 0:
		return c, 0, sum, io.EOF
	case len(data) < changeHeader:
		return c, 0, sum, errUnfinished
	}
	length := binary.LittleEndian.Uint32(data)
	if crc32.ChecksumIEEE(data[:4]) != binary.LittleEndian.Uint32(data[4:]) {
		return c, 0, sum, errSum
	}
	if uint64(len(data)) < changeHeader+uint64(length)+sha256.Size {
		return c, 0, sum, errUnfinished
	}
	end := changeHeader + int(length)
	if sum = sumOf(before, data[:end]); sum != [sha256.Size]byte(data[end:]) {
		return c, 0, sum, errSum
	}
	c, err = decodeChange(data[changeHeader:end])
	return c, end + sha256.Size, sum, err
}

func decodeChange(body []byte) (c change, err error) {
	d := msgpack.NewDecoder(bytes.NewReader(body))
	if c.table, err = d.DecodeString(); err != nil {
		return c, err
	}
	n, err := d.DecodeMapLen()
	c.records = map[string][]byte{}
	for ; n > 0 && err == nil; n-- {
		var name string
		if name, err = d.DecodeString(); err == nil {
			c.records[name], err = d.DecodeBytes()
		}
	}
	return c, err
}

// write appends changes to the file. After an error the file is as before, or the next change
// rewrites it.
func (s *Store) write(changes []change) error {
	if s.file == nil {
		return s.rewriteWith(changes)
	}
	var b []byte
	var err error
	sum := s.sum
	for _, c := range changes {
		if b, sum, err = appendChange(b, sum, c); err != nil {
			return err
		}
	}
	_, err = s.file.WriteAt(b, s.end)
	if err == nil {
		err = unix.Fdatasync(int(s.file.Fd()))
	}
	if err != nil {
		if s.cut() != nil {
			s.close()
		}
		return err
	}
	s.end, s.sum, s.changed = s.end+int64(len(b)), sum, true
	return nil
}

// cut removes an unfinished change from the file.
func (s *Store) cut() error {
	err := s.file.Truncate(s.end)
	if err == nil {
		err = s.file.Sync()
	}
	return err
}

// close ends the use of the file.
func (s *Store) close() {
	if s.file != nil {
		_ = s.file.Close() // what is in it is on disk
		s.file = nil
	}
}

// rewriteWith writes all records, with changes that have not been made yet.
func (s *Store) rewriteWith(changes []change) error {
	all := s.tables.clone()
	for _, c := range changes {
		all.apply(c)
	}
	return s.rewrite(all)
}

// shorten rewrites a file that changes have made long. If that fails, the file stays as it is, and
// the next try is when it is twice as long.
func (s *Store) shorten() {
	if s.file == nil || s.end < s.enough {
		return
	}
	if err := s.rewrite(s.tables); err != nil {
		s.log.Warn("the state is not made shorter", "path", s.path, "err", err)
		s.enough = 2 * s.end
	}
}
