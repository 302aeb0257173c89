package bpstat

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"bproc/internal/onscreen"
)

// Pauses of -U: between two polls of values whose changes the master does not report, after each
// table, and before the next request to a master that did not answer.
const (
	pollTime  = 2 * time.Second
	calmTime  = 100 * time.Millisecond
	retryTime = time.Second
)

// update prints the output whenever it has changed, until the context is done. It returns an error
// of the first time; later errors are only printed.
func (s *Stat) update(ctx context.Context, o *options) error {
	var digest uint64
	var shown string
	first, trouble := true, false
	for {
		next, err := s.changed(ctx, o, digest, first)
		var table bytes.Buffer
		if err == nil {
			err = s.print(ctx, &table, o)
		}
		pause := calmTime
		switch text := table.String(); {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			next, pause = 0, retryTime
			if !trouble {
				fmt.Fprintf(s.Stderr, "bpstat: %s\n", onscreen.Line(err.Error()))
			}
			trouble = true
		case first || trouble || text != shown:
			if err := s.show(o, text, first); err != nil {
				return err
			}
			shown, first, trouble = text, false, false
		}
		digest = next
		if !sleep(ctx, pause) {
			return nil
		}
	}
}

// changed waits until the output may have changed. The master reports changes of the node table
// only.
func (s *Stat) changed(ctx context.Context, o *options, digest uint64, first bool) (uint64, error) {
	if !o.procs && !o.load {
		return s.Client.AwaitNodes(ctx, digest)
	}
	if !first {
		sleep(ctx, pollTime)
	}
	return 0, nil
}

// show prints a table; on a terminal in place of the previous one, cut to its size.
func (s *Stat) show(o *options, text string, first bool) error {
	switch {
	case s.Screen != nil:
		const home, clear, cut, wrap = "\x1b[H", "\x1b[J", "\x1b[?7l", "\x1b[?7h" // console_codes(4)
		_, lines := s.Screen()
		if text = fitting(text, lines-1); !o.json { // a line that is too long must not wrap
			text = cut + text + wrap
		}
		text = home + clear + text
	case !first && !o.json:
		text = "\n" + text
	}
	_, err := s.Stdout.Write([]byte(text))
	return err
}

// fitting cuts a text to a number of lines. The last line says how many are missing.
func fitting(text string, lines int) string {
	have := strings.SplitAfter(text, "\n")
	have = have[:len(have)-1] // nothing follows the last newline
	if lines < 2 || len(have) <= lines {
		return text
	}
	return strings.Join(have[:lines-1], "") + fmt.Sprintf("... %d more lines\n", len(have)-lines+1)
}

// sleep reports whether the time has passed before the context was done.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
