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

// Machine is a core that replays a recording.
type Machine interface {
	// Types returns a value of each type that a line may have, with the configuration under
	// "begin".
	Types() map[string]any
	// Begin starts a core. Step gives it an input and returns the outputs.
	Begin(now time.Time, config any) error
	Step(now time.Time, in any) []any
}

// maxLine bounds a line.
const maxLine = 64 << 20

// Player replays lines to a machine.
type Player struct {
	machine Machine
	types   map[string]reflect.Type
	begun   bool
}

// NewPlayer returns a player for a machine that has not begun.
func NewPlayer(m Machine) *Player {
	p := &Player{machine: m, types: map[string]reflect.Type{}}
	for name, v := range m.Types() {
		p.types[name] = reflect.TypeOf(v)
	}
	return p
}

// Play gives a line to the machine and returns its outputs as lines. It returns none before the
// machine has begun.
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

// Replay reads the lines of a recording, and writes each with the outputs of the machine, which are
// indented by a tab. It skips an incomplete last line. A recording that does not go back to the start of
// the daemon is not whole: the state at its beginning is not known, so there are no outputs.
func Replay(from io.Reader, to io.Writer, m Machine) (whole bool, err error) {
	p := NewPlayer(m)
	r := bufio.NewReaderSize(io.LimitReader(from, 1<<40), 1<<16)
	for {
		text, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return p.begun, nil
		} else if err != nil {
			return p.begun, err
		}
		if len(text) > maxLine || strings.HasPrefix(text, "\t") {
			continue
		}
		out, err := p.Play(text)
		if err != nil {
			return p.begun, err
		}
		fmt.Fprint(to, text)
		for _, o := range out {
			fmt.Fprintf(to, "\t%s\n", o)
		}
	}
}
