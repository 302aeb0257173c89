package client

import (
	"errors"
	"fmt"
	"io"
)

// copyInput sends what src gives until its end, or until nobody takes it.
func (r *remote) copyInput(src io.Reader) {
	defer endInput(src)
	s := r.stream
	for wide, sent := false, 0; ; {
		var space []byte
		if !s.await(func() bool {
			if s.broken || s.closed || s.err != nil {
				return false
			}
			space = nil
			if !s.kept.over {
				space = s.kept.room()
			}
			return s.kept.over || space != nil
		}) || space == nil {
			return
		}
		n, err := src.Read(space)
		s.mu.Lock()
		s.kept.end += uint64(n)
		s.kept.eof = err != nil
		s.mu.Unlock()
		s.send()
		s.consider()
		if sent += n; !wide && sent >= bypassAfter {
			widen(src)
			wide = true
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("read standard input: %w", err)
				r.input.Store(&err)
			}
			s.await(func() bool { return s.kept.over })
			return
		}
	}
}
