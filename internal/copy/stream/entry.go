package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is the kind of an entry.
type Kind uint8

// The kinds of entries.
const (
	File Kind = iota + 1
	Directory
	Symlink
	HardLink // to an earlier file
	FIFO
	CharDevice
	BlockDevice
	Socket

	kinds // number of kinds, plus one
)

// Entry is a file of any kind, without its contents.
type Entry struct {
	Name   string // one component
	Kind   Kind
	Mode   uint32 // the bits 07777
	UID    uint32
	GID    uint32
	Mtime  time.Time
	Atime  time.Time
	Size   int64  // of a regular file when it was opened
	Device uint64 // device number, of a device
	Link   uint64 // File: number for later hard links to it; HardLink: number of the file; 0: none
	Target string // of a symbolic link

	// Identity on the sending machine, where no file may be copied onto itself.
	Dev, Ino uint64

	Xattrs []Xattr // extended attributes
}

// Xattr is an extended attribute.
type Xattr struct {
	Name  string
	Value []byte
}

// ErrStream is wrapped by all errors about the contents of a stream.
var ErrStream = errors.New("malformed stream")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrStream, fmt.Sprintf(format, args...))
}

const (
	maxName    = 255  // NAME_MAX
	maxTarget  = 4096 // PATH_MAX
	fixedEntry = 1 + 3*4 + 2*12 + 5*8
)

// append appends the body of the entry to b.
func (e *Entry) append(b []byte) []byte {
	le := binary.LittleEndian
	b = append(b, byte(e.Kind))
	for _, v := range []uint32{e.Mode, e.UID, e.GID} {
		b = le.AppendUint32(b, v)
	}
	for _, t := range []time.Time{e.Mtime, e.Atime} {
		b = le.AppendUint64(b, uint64(t.Unix()))
		b = le.AppendUint32(b, uint32(t.Nanosecond()))
	}
	for _, v := range []uint64{uint64(e.Size), e.Device, e.Link, e.Dev, e.Ino} {
		b = le.AppendUint64(b, v)
	}
	b = appendText(b, e.Name)
	b = appendText(b, e.Target)
	b = le.AppendUint32(b, uint32(len(e.Xattrs)))
	for _, x := range e.Xattrs {
		b = appendText(b, x.Name)
		b = appendText(b, string(x.Value))
	}
	return b
}

func appendText(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// parseEntry parses the body of an entry.
func parseEntry(b []byte) (*Entry, error) {
	if len(b) < fixedEntry {
		return nil, malformed("an entry of %d bytes", len(b))
	}
	p := parser{rest: b}
	e := &Entry{Kind: Kind(p.uint8()), Mode: p.uint32(), UID: p.uint32(), GID: p.uint32()}
	e.Mtime, e.Atime = p.time(), p.time()
	e.Size, e.Device, e.Link, e.Dev, e.Ino = int64(p.uint64()), p.uint64(), p.uint64(), p.uint64(), p.uint64()
	e.Name, e.Target = p.text(), p.text()
	for n := p.uint32(); n > 0 && !p.short; n-- {
		e.Xattrs = append(e.Xattrs, Xattr{Name: p.text(), Value: []byte(p.text())})
	}
	if p.short || len(p.rest) > 0 {
		return nil, malformed("an entry has another length than its fields")
	}
	return e, e.check()
}

// check rejects entries that no sender makes.
func (e *Entry) check() error {
	switch {
	case e.Kind == 0 || e.Kind >= kinds:
		return malformed("kind %d", e.Kind)
	case !goodName(e.Name):
		return malformed("the name %q", e.Name)
	case e.Mode&^0o7777 != 0:
		return malformed("%s: mode %o", e.Name, e.Mode)
	case e.Size < 0:
		return malformed("%s: size %d", e.Name, e.Size)
	case e.Kind == HardLink && e.Link == 0:
		return malformed("%s: a link to nothing", e.Name)
	case (e.Kind == Symlink) != (e.Target != ""), len(e.Target) >= maxTarget, strings.Contains(e.Target, "\x00"):
		return malformed("%s: the target %q", e.Name, e.Target)
	}
	for _, x := range e.Xattrs {
		if x.Name == "" || len(x.Name) > maxName || strings.Contains(x.Name, "\x00") {
			return malformed("%s: the extended attribute %q", e.Name, x.Name)
		}
	}
	return nil
}

// Here is the name of the first directory of a stream if its entries belong into the receiving
// directory itself.
const Here = "."

// goodName reports whether name is one component of a path and does not lead upwards. It accepts
// [Here]; the reader checks where that may stand.
func goodName(name string) bool {
	return name != "" && name != ".." && len(name) <= maxName && !strings.ContainsAny(name, "/\x00")
}

// parser takes fields from the beginning of a text. If the text is too short, it sets short and
// returns zeros.
type parser struct {
	rest  []byte
	short bool
}

func (p *parser) take(n int) []byte {
	if n < 0 || n > len(p.rest) {
		p.short, p.rest = true, nil
		return nil
	}
	b := p.rest[:n]
	p.rest = p.rest[n:]
	return b
}

func (p *parser) uint8() uint8 {
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *parser) uint32() uint32 {
	if b := p.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (p *parser) uint64() uint64 {
	if b := p.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (p *parser) time() time.Time {
	seconds, nanoseconds := int64(p.uint64()), p.uint32()
	return time.Unix(seconds, int64(nanoseconds))
}

func (p *parser) text() string { return string(p.take(int(p.uint32()))) }
