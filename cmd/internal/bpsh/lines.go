package bpsh

import (
	"bytes"
	"io"
)

// maxLine bounds the value of -b, since each output of each node may buffer that much.
const maxLine = 1 << 20

// lines is a writer that passes on whole lines, as many as possible with one call of Write. A line
// longer than the limit, without its newline, is passed on in pieces. With a prefix, each line or
// piece begins with the prefix and ends in a newline; without, no byte is changed.
type lines struct {
	out    io.Writer
	prefix string
	limit  int
	line   []byte // incomplete
	ready  []byte // to pass on with the next write
}

func (l *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			n = len(rest)
		}
		n = min(n, l.limit+1-len(l.line))
		l.line = append(l.line, rest[:n]...)
		rest = rest[n:]
		switch size := len(l.line); {
		case l.line[size-1] == '\n':
			l.end(size)
		case size > l.limit:
			l.end(l.limit)
		}
	}
	return len(p), l.send()
}

// end makes the first n bytes of the line ready to pass on.
func (l *lines) end(n int) {
	l.ready = append(l.ready, l.prefix...)
	l.ready = append(l.ready, l.line[:n]...)
	if l.prefix != "" && l.line[n-1] != '\n' {
		l.ready = append(l.ready, '\n')
	}
	l.line = l.line[:copy(l.line, l.line[n:])]
}

func (l *lines) send() error {
	if len(l.ready) == 0 {
		return nil
	}
	_, err := l.out.Write(l.ready)
	l.ready = l.ready[:0]
	return err
}

// flush passes on the last, incomplete line.
func (l *lines) flush() error {
	if len(l.line) > 0 {
		l.end(len(l.line))
	}
	return l.send()
}
