package recording

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// Machine is a core to which a recording is given.
type Machine interface {
	// Types returns a value of each type that a line may have, the configuration under "begin".
	Types() map[string]any
	// Begin begins with a core, Step gives it an input, and returns what comes out.
	Begin(now time.Time, config any) error
	Step(now time.Time, in any) []any
}

// maxLine bounds a line.
const maxLine = 64 << 20

// Player gives lines to a machine.
type Player struct {
	machine Machine
	types   map[string]reflect.Type
	begun   bool
}

// NewPlayer returns one for a machine that is yet to begin.
func NewPlayer(m Machine) *Player {
	p := &Player{machine: m, types: map[string]reflect.Type{}}
	for name, v := range m.Types() {
		p.types[name] = reflect.TypeOf(v)
	}
	return p
}

// Play gives a line to the machine and returns what comes out, a line each. Before the machine has begun nothing
// comes out.
func (p *Player) Play(text string) (out []string, err error) {
	now, name, v, err := parse(text, p.types)
	switch {
	case err != nil:
		return nil, err
	case name == begin:
		p.begun = true
		return nil, p.machine.Begin(now, v)
	case !p.begun:
		return nil, nil
	}
	for _, o := range p.machine.Step(now, v) {
		line, err := Line(now, o)
		if err != nil {
			return nil, err
		}
		_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
		out = append(out, line)
	}
	return out, nil
}

// Replay reads the lines of a recording, and writes each with what comes out of the machine, indented by a tabulator. A
// last line that is cut off is left out.
func Replay(from io.Reader, to io.Writer, m Machine) error {
	p := NewPlayer(m)
	r := bufio.NewReaderSize(io.LimitReader(from, 1<<40), 1<<16)
	for {
		text, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(text) > maxLine || strings.HasPrefix(text, "\t") {
			continue
		}
		out, err := p.Play(text)
		if err != nil {
			return err
		}
		fmt.Fprint(to, text)
		for _, o := range out {
			fmt.Fprintf(to, "\t%s\n", o)
		}
	}
}
