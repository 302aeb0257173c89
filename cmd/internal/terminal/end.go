package terminal

import "io"

// endOfFile is the character that says so at a terminal with common settings (termios(3):
// VEOF).
const endOfFile = 'D' & 0x1f

// WithEnd returns a reader of what a file has for a terminal, and then of the characters
// for the end of the file. Behind the beginning of a line one is not enough.
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
