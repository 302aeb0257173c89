package bpsh

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/nodeset"
)

// progress is a line at the bottom of a terminal. While output is kept, it shows how many commands
// have ended and on which nodes others run. All other output to the terminal goes through Write.
type progress struct {
	terminal *os.File

	mu    sync.Mutex
	jobs  int
	left  map[*job]bool
	shown bool // the line is on the terminal

	quit chan struct{}
	done chan struct{}
}

// A run that ends before showAfter shows no line.
const (
	showAfter = 500 * time.Millisecond
	showEvery = 200 * time.Millisecond
)

// newProgress returns the line for a shell whose standard error is a terminal, and redirects the
// shell's standard error through it. Without a terminal it returns nil.
func newProgress(sh *Shell) *progress {
	f, ok := client.FileOf(sh.Stderr)
	if !ok || !isTerminal(f) {
		return nil
	}
	p := &progress{terminal: f, left: map[*job]bool{}, quit: make(chan struct{}), done: make(chan struct{})}
	sh.Stderr = p
	return p
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// keepsOutput reports whether no output of the commands is shown while they run.
func (o *options) keepsOutput() bool { return o.group || o.json && !isTerminal(os.Stdout) }

// begun adds a command.
func (p *progress) begun(j *job) {
	if p != nil {
		p.jobs++
		p.left[j] = true
	}
}

// start starts to show the line. The caller must call stop.
func (p *progress) start() {
	if p != nil {
		go p.run()
	}
}

func (p *progress) run() {
	defer close(p.done)
	wait := showAfter
	for {
		select {
		case <-p.quit:
			p.mu.Lock()
			defer p.mu.Unlock()
			p.clear()
			return
		case <-time.After(wait):
			p.show()
			wait = showEvery
		}
	}
}

// stop removes the line for good.
func (p *progress) stop() {
	if p != nil {
		close(p.quit)
		<-p.done
	}
}

// ended removes a command that has ended.
func (p *progress) ended(j *job) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.left, j)
	}
}

// Write clears the line and writes to the terminal. The line comes back at its next update.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return client.NewFile(p.terminal).Write(b)
}

func (p *progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.terminal, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.line()
	if width := columns(p.terminal); len(line) >= width {
		line = line[:width-1]
	}
	_, _ = io.WriteString(p.terminal, "\r"+line+"\x1b[K")
	p.shown = true
}

func (p *progress) line() string {
	var nodes []client.NodeID
	for j := range p.left {
		nodes = append(nodes, j.cmd.Node)
	}
	slices.Sort(nodes)
	return fmt.Sprintf("%d of %d have ended; left: %s", p.jobs-len(p.left), p.jobs, nodeset.Format(slices.Compact(nodes)))
}

// columns returns the width of a terminal.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return 80
	}
	return int(size.Col)
}
