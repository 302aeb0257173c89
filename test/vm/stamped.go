package main

import (
	"io"
	"time"
)

// stamped puts the time of day before what is written to it: of a machine that prints little, that
// is before each of its lines, or before the first of those that came together.
type stamped struct{ to io.Writer }

func (s stamped) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.to, time.Now().Format("15:04:05 ")); err != nil {
		return 0, err
	}
	return s.to.Write(p)
}
