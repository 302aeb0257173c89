package terminal

import "io"

// endOfFile is the end-of-file character of a terminal with common settings (VEOF, termios(3)).
const endOfFile = 'D' & 0x1f

// WithEnd returns a reader of a file's bytes for a terminal, followed by end-of-file characters. In
// the middle of a line, one is not enough.
func WithEnd(r io.Reader) io.Reader { return &withEnd{r: r, last: '\n'} }

type withEnd struct {
	r    io.Reader
	last byte
	end  []byte
	over error
}

func (w *withEnd) Read(p []byte) (int, error) {
	if w.over == nil {
		n, err := w.r.Read(p)
		if n > 0 {
			w.last = p[n-1]
		}
		if err == nil || n > 0 && err != io.EOF {
			return n, err
		}
		w.over, w.end = err, []byte{endOfFile}
		if w.last != '\n' && w.last != '\r' {
			w.end = append(w.end, endOfFile)
		}
		if n > 0 {
			return n, nil
		}
	}
	if len(w.end) == 0 {
		return 0, w.over
	}
	n := copy(p, w.end)
	w.end = w.end[n:]
	return n, nil
}
