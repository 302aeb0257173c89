package life

import "time"

// Config is what a job file says of a process's life.
type Config struct {
	Hook            bool // there is a pre_start hook
	Interrupt       bool // it is asked to end by SIGINT, not SIGTERM
	ShutdownTimeout time.Duration
	Rule            Rule
}

const (
	// HookTimeout is how long a hook may take.
	HookTimeout = 30 * time.Second
	// DumpTimeout is how long a process has after SIGQUIT, which makes many dump their stacks.
	DumpTimeout = 2 * time.Second
)

// Record is what a process must not forget. It can be kept, and be given to [New] later.
type Record struct {
	State    State
	Phase    Phase
	Run      uint64    // the number of the last run, from 1 on
	Exit     Exit      // of the last run that is over
	Since    time.Time // in this state
	Deadline time.Time // when Due does something; zero: never
	Restarts int       // by the rule, without a long run between
	ByRule   bool      // this run was not asked for
	Wanted   bool      // it is started when it has been stopped
}

// Process is the life of one process of a job. Only one goroutine at a time may call its methods.
type Process struct {
	Record
	config Config
	now    time.Time // of the input
	out    []Output
}

// New returns a process as a record has it; the zero record is one that was never started.
func New(c Config, r Record) *Process { return &Process{Record: r, config: c} }

// Step takes one input, which came at a time, and returns what is to be done for it, in order.
func (p *Process) Step(now time.Time, in Input) []Output {
	p.now = now
	if k := in.note(p); k != ignored {
		p.apply(table[p.State][k])
	}
	out := p.out
	p.out = nil
	return out
}

func (p *Process) emit(o Output) { p.out = append(p.out, o) }

// apply does what a cell of the table says. The event comes first: who reads the outputs in order
// knows the state in which the others are asked for.
func (p *Process) apply(c cell) {
	if c.does == resume && p.Wanted {
		c = cell{Starting, "restarted", begin}
	}
	if c.event != "" {
		event := Changed{At: p.now, Name: c.event, From: p.State, To: c.to, Run: p.Run, Exit: p.Exit}
		if c.does == begin || c.does == retry {
			event.Run, event.Exit = p.Run+1, Exit{}
		}
		p.emit(event)
		p.State, p.Since = c.to, p.now
	}
	p.do(c)
}

func (p *Process) do(c cell) {
	switch c.does {
	case begin, retry:
		p.begin(c.does == retry)
	case launch:
		p.launch()
	case stand:
		p.Phase = up
		p.wake(time.Time{})
	case end, endAnew:
		p.Wanted = p.Wanted || c.does == endAnew
		p.end()
	case ask:
		p.ask()
	case press:
		p.press()
	case anew, forGood:
		p.Wanted = c.does == anew
	case rest, resume:
		p.Phase, p.Wanted = nothing, false
		p.wake(time.Time{})
	case wait:
		p.Phase = nothing
		p.wake(p.now.Add(p.config.Rule.Wait(p.Restarts)))
		p.Restarts++
	case already:
		p.emit(Already{p.State})
	}
}

// wake sets the deadline, the only one that there is.
func (p *Process) wake(at time.Time) {
	if !at.Equal(p.Deadline) {
		p.Deadline = at
		p.emit(Wake{at})
	}
}

// begin begins a run. One that is asked for is the first of its back-off.
func (p *Process) begin(byRule bool) {
	p.Run++
	p.Exit, p.ByRule, p.Wanted = Exit{}, byRule, false
	if !byRule {
		p.Restarts = 0
	}
	if !p.config.Hook {
		p.launch()
		return
	}
	p.Phase = hooking
	p.emit(RunHook{p.Run})
	p.wake(p.now.Add(HookTimeout))
}

// launch asks for the process. It has as long to start as it needs.
func (p *Process) launch() {
	p.Phase = launching
	p.emit(Launch{p.Run})
	p.wake(time.Time{})
}

// over notes how a run has ended, and returns what follows from that. A start that was asked for
// and failed is not tried again: who asked is told. After a run that was as long as the longest
// wait the back-off begins anew.
func (p *Process) over(e Exit) kind {
	p.Exit = e
	switch p.State {
	case Running:
		if p.now.Sub(p.Since) >= p.config.Rule.LastDelay() {
			p.Restarts = 0
		}
		if p.config.Rule.again(e) {
			return again
		}
	case Starting:
		if p.ByRule && p.config.Rule.again(e) {
			return again
		}
	default: // it was to end
	}
	if e.OK() {
		return finished
	}
	return failed
}
