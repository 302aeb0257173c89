package filter

import (
	"maps"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Places in the part of one interface, besides the rules.
const (
	next    place = ""
	asked   place = "asked"
	notify  place = "notify"
	allowed place = "allowed"
	tracee  place = "tracee"
)

// block returns the part of one interface. With cookie 0 no call has a cookie.
//
//	               load nr
//	               nr is an intercepted call's: go to its rule
//	               allow
//	signalThread:  argument 2 is a signal that stops: go to asked
//	               argument 1 is at home: go to allowed; go to asked
//	another:       argument 0 is 0: go to allowed; go to number
//	signalProcess: argument 1 is a signal that stops: go to asked
//	number:        argument 0 is at home: go to allowed; go to asked
//	traits:        argument 0 is one of the options: go to asked; allow
//	attach:        argument 0 is one of the requests: go to tracee; allow
//	tracee:        argument 1 is at home: go to allowed; go to asked
//	asked:         argument 5 is the cookie: go to allowed
//	notify:        ask the supervisor
//	allowed:       allow
//
// Jumps are at most 255 instructions long, and forward.
func block(abi ABI, cookie uint64, home Home) []bpf.Instruction {
	var p program
	p.load(offsetNr)
	for _, nr := range slices.Sorted(maps.Keys(abi.Calls)) {
		p.jump(bpf.JumpEqual, nr, abi.Calls[nr].rule(), next)
	}
	p.allow()

	p.at(signalThread)
	p.either(2, stops, asked)
	p.home(1, home)
	p.at(another)
	p.load(argument(0))
	p.jump(bpf.JumpEqual, 0, allowed, number)
	p.at(signalProcess)
	p.either(1, stops, asked)
	p.at(number)
	p.home(0, home)
	p.at(traits)
	p.either(0, options, asked)
	p.allow()
	p.at(attach)
	p.either(0, requests, tracee)
	p.allow()
	p.at(tracee)
	p.home(1, home)

	p.at(asked)
	if cookie != 0 {
		p.load(argument(cookieArg))
		p.jump(bpf.JumpEqual, uint32(cookie), next, notify)
		p.load(argument(cookieArg) + 4)
		p.jump(bpf.JumpEqual, uint32(cookie>>32), allowed, notify)
	}
	p.at(notify)
	p.add(bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF})
	p.at(allowed)
	p.allow()
	return p.resolve()
}

// program is a list of instructions with named places.
type program struct {
	lines  []line
	places map[place]int
}

// line is an instruction; a jump has the names of its targets.
type line struct {
	bpf.Instruction
	yes, no place
}

func (p *program) add(ins bpf.Instruction) { p.lines = append(p.lines, line{Instruction: ins}) }

func (p *program) load(offset uint32) { p.add(bpf.LoadAbsolute{Off: offset, Size: 4}) }

func (p *program) allow() { p.add(bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}) }

func (p *program) jump(cond bpf.JumpTest, val uint32, yes, no place) {
	p.lines = append(p.lines, line{bpf.JumpIf{Cond: cond, Val: val}, yes, no})
}

// at names the place behind the instructions so far.
func (p *program) at(name place) {
	if p.places == nil {
		p.places = map[place]int{}
	}
	p.places[name] = len(p.lines)
}

// either goes to a place if an argument has one of the values.
func (p *program) either(arg uint32, values []uint32, to place) {
	p.load(argument(arg))
	for _, value := range values {
		p.jump(bpf.JumpEqual, value, to, next)
	}
}

// home jumps to allowed if an argument is a number at home, and otherwise to asked.
func (p *program) home(arg uint32, home Home) {
	p.load(argument(arg))
	p.jump(bpf.JumpGreaterOrEqual, home.First, next, asked)
	p.jump(bpf.JumpGreaterOrEqual, home.End, asked, allowed)
}

// resolve computes the distance of each jump.
func (p *program) resolve() []bpf.Instruction {
	skip := func(from int, to place) uint8 {
		if to == next {
			return 0
		}
		return uint8(p.places[to] - from - 1)
	}
	prog := make([]bpf.Instruction, len(p.lines))
	for i, l := range p.lines {
		if j, ok := l.Instruction.(bpf.JumpIf); ok {
			j.SkipTrue, j.SkipFalse = skip(i, l.yes), skip(i, l.no)
			l.Instruction = j
		}
		prog[i] = l.Instruction
	}
	return prog
}
