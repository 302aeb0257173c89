package life

import "time"

// Config is the part of a job file that concerns a process's life.
type Config struct {
	Hook            bool // there is a pre_start hook
	Interrupt       bool // the shutdown signal is SIGINT, not SIGTERM
	ShutdownTimeout time.Duration
	Rule            Rule
}

const (
	// HookTimeout is the time limit of a hook, from its begin on the node on.
	HookTimeout = 30 * time.Second
	// KillInterval is the time after which a hook that has not ended is killed again.
	KillInterval = time.Second
	// DumpTimeout is the time from SIGQUIT, on which many programs dump their stacks, to SIGKILL.
	DumpTimeout = 2 * time.Second
)

// Record is the persistent state of a process. It can be stored and given to [New] later.
type Record struct {
	State    State
	Phase    Phase
	Run      uint64    // number of the last run, from 1 on
	Exit     Exit      // of the last run, if it is over
	Since    time.Time // time of the last change of State
	Deadline time.Time // when Due takes effect; zero: never
	Restarts int       // by the rule, without a long run in between
	ByRule   bool      // the rule started this run
	Wanted   bool      // start it again when it has stopped
}

// Process is the life of one process of a job. Its methods must not be called concurrently.
type Process struct {
	Record
	config Config
	now    time.Time // time of the input
	out    []Output
}

// New returns the process of a record. The zero record means that it was never started.
func New(c Config, r Record) *Process { return &Process{Record: r, config: c} }

// Step takes an input and its time, and returns the actions to carry out, in order.
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

// apply carries out a cell of the table. It emits the event first, so that readers of the outputs
// know the new state before they see the actions.
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
	case limitHook:
		p.wake(p.now.Add(HookTimeout))
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

// wake sets the deadline, of which there is only one.
func (p *Process) wake(at time.Time) {
	if !at.Equal(p.Deadline) {
		p.Deadline = at
		p.emit(Wake{at})
	}
}

// begin begins a run. A run by request resets the back-off.
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
	p.wake(time.Time{})
}

// launch asks for the process. The start has no time limit.
func (p *Process) launch() {
	p.Phase = launching
	p.emit(Launch{p.Run})
	p.wake(time.Time{})
}

// over records the end of a run, and returns its kind. A failed start by request is not repeated,
// since the user is told. A run that was at least as long as the longest delay resets the back-off.
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
	default: // it was stopping
	}
	if e.OK() {
		return finished
	}
	return failed
}
