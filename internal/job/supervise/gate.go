package supervise

import (
	"bytes"
	"io"
	"strings"

	"bproc/internal/job/spec"
)

// maxWhy bounds the stored output of bpjail.
const maxWhy = 4 << 10

// gate handles standard error of bpjail. Output before [spec.Ready] is the reason of a failure;
// output after it is the program's. Only one goroutine writes, and others read the result after its
// end.
type gate struct {
	to    io.Writer
	ready func() // called once, on Ready
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

// why returns bpjail's reason for its failure, in one line.
func (g *gate) why() string {
	return strings.Join(strings.Fields(string(g.held)), " ")
}
