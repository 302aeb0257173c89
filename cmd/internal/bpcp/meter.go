package bpcp

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is the terminal that shows the progress.
type Terminal struct {
	Out   io.Writer
	Width func() int       // in characters
	Now   func() time.Time // nil: the clock
}

// TerminalOf returns f as a terminal, or nil if it is none.
func TerminalOf(f *os.File) *Terminal {
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
		return nil
	}
	return &Terminal{Out: f, Width: func() int {
		size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
		if err != nil || size.Col == 0 {
			return 80
		}
		return int(size.Col)
	}}
}

// meter shows the progress of all transfers in one line.
type meter struct {
	terminal *Terminal
	parts    []part // of each transfer
	begin    time.Time
	shown    time.Time
	visible  bool
}

// part is the progress of a transfer.
type part struct {
	total   int64 // bytes; 0 if not known yet
	done    int64
	members int
}

// showEvery is the least time between two changes of the line.
const showEvery = 200 * time.Millisecond

// newMeter returns the meter of a number of transfers. Without a terminal it shows nothing.
func newMeter(terminal *Terminal, transfers int) *meter {
	m := &meter{terminal: terminal, parts: make([]part, transfers)}
	if terminal != nil && terminal.Now == nil {
		terminal.Now = time.Now
	}
	if terminal != nil {
		m.begin = terminal.Now()
	}
	return m
}

func (c *Copier) total(transfer int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meter.parts[transfer].total = bytes
}

func (c *Copier) progress(transfer int, bytes int64, members int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.meter.parts[transfer]
	p.done, p.members = bytes, members
	c.meter.show()
}

// show shows the line, unless it was shown less than showEvery ago.
func (m *meter) show() {
	if m == nil || m.terminal == nil {
		return
	}
	now := m.terminal.Now()
	if now.Sub(m.shown) < showEvery {
		return
	}
	m.shown, m.visible = now, true
	line := m.line(now.Sub(m.begin))
	if width := m.terminal.Width() - 1; len(line) > width {
		line = line[:max(width, 0)]
	}
	fmt.Fprintf(m.terminal.Out, "\r%s\x1b[K", line)
}

// clear removes the line, so that other text can be printed.
func (m *meter) clear() {
	if m != nil && m.visible {
		m.visible = false
		fmt.Fprint(m.terminal.Out, "\r\x1b[K")
	}
}

// line returns the line for an elapsed time.
func (m *meter) line(elapsed time.Duration) string {
	var total, done int64
	known, members := true, 0
	for _, p := range m.parts {
		total, done, members = total+p.total, done+p.done, members+p.members
		known = known && p.total > 0
	}
	rate := float64(done) / max(elapsed.Seconds(), 1e-3)
	var words []string
	if known {
		done = min(done, total)
		words = append(words, fmt.Sprintf("%3d%%", 100*done/total), size(float64(done))+" of "+size(float64(total)))
	} else {
		words = append(words, size(float64(done)))
	}
	words = append(words, size(rate)+"/s")
	if known && done > 0 {
		left := time.Duration(float64(total-done) / rate * float64(time.Second))
		words = append(words, clock(left)+" left")
	}
	if members > 1 {
		words = append(words, fmt.Sprintf("%d machines", members))
	}
	return strings.Join(words, "  ")
}

// size returns a number of bytes in the unit that makes it short.
func size(bytes float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for bytes >= 999.5 && i < len(units)-1 {
		bytes /= 1024
		i++
	}
	if i == 0 || bytes >= 99.95 {
		return fmt.Sprintf("%.0f %s", bytes, units[i])
	}
	return fmt.Sprintf("%.1f %s", bytes, units[i])
}

// clock returns a time as minutes and seconds, with hours if needed.
func clock(d time.Duration) string {
	s := int64(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
