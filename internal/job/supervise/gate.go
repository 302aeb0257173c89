package supervise

import (
	"bytes"
	"io"
	"strings"

	"bproc/internal/job/spec"
)

// maxWhy bounds what is kept of what bpjail says.
const maxWhy = 4 << 10

// gate is standard error of bpjail: what it says before [spec.Ready] is why it fails, and what comes after
// that is the program's. One goroutine writes, and others look when that has ended.
type gate struct {
	to    io.Writer
	ready func() // called once, at Ready
	held  []byte
	open  bool
}

func (g *gate) Write(p []byte) (int, error) {
	n := len(p)
	if g.open {
		return g.to.Write(p)
	}
	g.held = append(g.held, p...)
	if !bytes.HasPrefix([]byte(spec.Ready), g.held[:min(len(g.held), len(spec.Ready))]) {
		g.held = g.held[:min(len(g.held), maxWhy)]
		return n, nil
	}
	if len(g.held) < len(spec.Ready) {
		return n, nil
	}
	rest := g.held[len(spec.Ready):]
	g.open, g.held = true, nil
	g.ready()
	if len(rest) > 0 {
		_, _ = g.to.Write(rest) // never fails
	}
	return n, nil
}

// why returns what bpjail has said of its failure, in one line.
func (g *gate) why() string {
	return strings.Join(strings.Fields(string(g.held)), " ")
}
