package stream

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// Record is one of *Entry, Data, Close, Leave and End.
type Record any

// Records other than entries.
type (
	// Data holds bytes of the current file. They are valid until the next record is read.
	Data struct {
		Offset int64
		Bytes  []byte
	}
	// Close ends the current file.
	Close struct {
		Size int64
		OK   bool // the file was read to its end
	}
	// Leave ends the current directory.
	Leave struct{}
	// End ends the stream.
	End struct{}
)

// MaxDepth is the greatest depth of nested directories.
const MaxDepth = 4096

// Reader reads a stream and checks it.
type Reader struct {
	from  io.Reader
	begun bool
	buf   []byte

	depth  int   // entered directories
	inFile bool  // between a file's entry and its Close
	end    int64 // end of the current file's data so far
	over   bool
}

// NewReader returns a reader of a stream.
func NewReader(from io.Reader) *Reader { return &Reader{from: from} }

// Next returns the next record, or io.EOF after End. If the input ends before End, it returns
// io.ErrUnexpectedEOF.
func (r *Reader) Next() (Record, error) {
	if r.over {
		return nil, io.EOF
	}
	record, err := r.next()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return record, err
}

func (r *Reader) next() (Record, error) {
	if !r.begun {
		var begin [len(magic)]byte
		if _, err := io.ReadFull(r.from, begin[:]); err != nil {
			return nil, err
		}
		if string(begin[:]) != magic {
			return nil, malformed("it begins with %q", begin)
		}
		r.begun = true
	}
	var header [headerSize]byte
	if _, err := io.ReadFull(r.from, header[:]); err != nil {
		return nil, err
	}
	body, err := r.body(header[0], binary.LittleEndian.Uint32(header[1:]))
	if err != nil {
		return nil, err
	}
	switch header[0] {
	case typeEntry:
		return r.entry(body)
	case typeData:
		return r.data(body)
	case typeClose:
		return r.close(body)
	case typeLeave:
		return r.leave()
	default: // typeEnd: body rejects other types
		if r.inFile || r.depth > 0 {
			return nil, malformed("the end is within a file or directory")
		}
		r.over = true
		return End{}, nil
	}
}

// bounds are the least and the greatest length of the body of each type.
var bounds = [...][2]uint32{
	typeEntry: {fixedEntry, maxEntry}, typeData: {8 + 1, 8 + MaxData}, typeClose: {9, 9}, typeLeave: {}, typeEnd: {},
}

// body reads the body of a record, if its type may have this length.
func (r *Reader) body(kind byte, length uint32) ([]byte, error) {
	if kind == 0 || int(kind) >= len(bounds) || length < bounds[kind][0] || length > bounds[kind][1] {
		return nil, malformed("a record of type %d and %d bytes", kind, length)
	}
	if int(length) > cap(r.buf) {
		r.buf = make([]byte, max(int(length), 64<<10))
	}
	body := r.buf[:length]
	_, err := io.ReadFull(r.from, body)
	return body, err
}

func (r *Reader) entry(body []byte) (Record, error) {
	if r.inFile {
		return nil, malformed("an entry within a file")
	}
	e, err := parseEntry(body)
	if err != nil {
		return nil, err
	}
	if e.Name == Here && (e.Kind != Directory || r.depth > 0) {
		return nil, malformed("the name %q", e.Name)
	}
	switch e.Kind {
	case Directory:
		if r.depth++; r.depth > MaxDepth {
			return nil, malformed("more than %d directories in one another", MaxDepth)
		}
	case File:
		r.inFile, r.end = true, 0
	default: // other kinds have no further records
	}
	return e, nil
}

func (r *Reader) data(body []byte) (Record, error) {
	offset := binary.LittleEndian.Uint64(body)
	d := Data{Offset: int64(offset), Bytes: body[8:]}
	if !r.inFile || offset > math.MaxInt64-MaxData || d.Offset < r.end {
		return nil, malformed("data out of order")
	}
	r.end = d.Offset + int64(len(d.Bytes))
	return d, nil
}

func (r *Reader) close(body []byte) (Record, error) {
	c := Close{Size: int64(binary.LittleEndian.Uint64(body)), OK: body[8] == 1}
	if !r.inFile || c.Size < r.end {
		return nil, malformed("a close out of order")
	}
	r.inFile = false
	return c, nil
}

func (r *Reader) leave() (Record, error) {
	if r.inFile || r.depth == 0 {
		return nil, malformed("no directory to leave")
	}
	r.depth--
	return Leave{}, nil
}
