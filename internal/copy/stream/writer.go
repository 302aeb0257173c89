package stream

import (
	"encoding/binary"
	"io"
)

// magic begins a stream. Its last byte is the version.
const magic = "bpcp\x01"

// Types of records.
const (
	typeEntry = iota + 1
	typeData
	typeClose
	typeLeave
	typeEnd
)

const (
	headerSize = 5
	// MaxData bounds the bytes of a Data record.
	MaxData = 256 << 10
	// maxEntry bounds an entry; only very many extended attributes exceed it.
	maxEntry = 1 << 20
)

// Writer writes a stream. Errors are those of the underlying writer; after an error it is unusable.
type Writer struct {
	to  io.Writer
	buf []byte
	err error
}

// NewWriter returns a writer of a stream.
func NewWriter(to io.Writer) *Writer {
	w := &Writer{to: to}
	_, w.err = io.WriteString(to, magic)
	return w
}

// record begins a record.
func (w *Writer) record(kind byte) { w.buf = append(w.buf[:0], kind, 0, 0, 0, 0) }

// flush writes the current record. extra is the rest of its body, which is not copied.
func (w *Writer) flush(extra []byte) error {
	binary.LittleEndian.PutUint32(w.buf[1:], uint32(len(w.buf)-headerSize+len(extra)))
	for _, b := range [][]byte{w.buf, extra} {
		if w.err == nil && len(b) > 0 {
			_, w.err = w.to.Write(b)
		}
	}
	return w.err
}

// ErrTooLong is the error for an entry with too many extended attributes, which was not written.
var ErrTooLong = malformed("more extended attributes than %d bytes", maxEntry)

// Entry writes an entry. Leave must follow for a directory, Close for a file.
func (w *Writer) Entry(e *Entry) error {
	if err := e.check(); err != nil {
		return err
	}
	w.record(typeEntry)
	if w.buf = e.append(w.buf); len(w.buf)-headerSize > maxEntry {
		return ErrTooLong
	}
	return w.flush(nil)
}

// Data writes up to [MaxData] bytes of the current file at an offset.
func (w *Writer) Data(offset int64, data []byte) error {
	w.record(typeData)
	w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(offset))
	return w.flush(data)
}

// Close ends a file. Receivers do not make the file if ok is false.
func (w *Writer) Close(size int64, ok bool) error {
	w.record(typeClose)
	w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(size))
	good := byte(0)
	if ok {
		good = 1
	}
	w.buf = append(w.buf, good)
	return w.flush(nil)
}

// Leave ends a directory.
func (w *Writer) Leave() error {
	w.record(typeLeave)
	return w.flush(nil)
}

// End ends the stream.
func (w *Writer) End() error {
	w.record(typeEnd)
	return w.flush(nil)
}
