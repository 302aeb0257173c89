package main

import (
	"io"
	"time"
)

// stamped writes the time of day before each write. For a machine that prints little, that is
// before each line, or before the first of those that came together.
type stamped struct{ to io.Writer }

func (s stamped) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.to, time.Now().Format("15:04:05 ")); err != nil {
		return 0, err
	}
	return s.to.Write(p)
}
