package core

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bproc/pidmap"
	"bproc/wire"
)

// script is a core with its surroundings: a journal, the numbers of events, and the outputs of the
// core since the last input.
type script struct {
	*testing.T
	core    *Core
	now     time.Time
	heard   time.Time
	session Session
	next    uint64 // number of the next event
	journal memory
	lines   []string
}

const testLease = 30 * time.Second

func newScript(t *testing.T) *script {
	t.Helper()
	s := &script{T: t, now: time.Unix(1_000_000, 0), next: 1}
	s.heard = s.now
	s.begin()
	return s
}

// begin creates a core, the first or another one, from the journal.
func (s *script) begin() {
	s.Helper()
	c, err := New(Config{Journal: s.journal.records, Confirmed: s.journal.confirmed})
	if err != nil {
		s.Fatal(err)
	}
	s.core = c
}

// memory is a journal.
type memory struct {
	records   []Record
	confirmed uint64
	grown     bool // it is worth writing anew
}

// step gives the core an input and carries out the outputs.
func (s *script) step(in Input) {
	for _, o := range s.core.Step(s.now, in) {
		if next := s.perform(o); next != nil {
			s.step(next)
		}
	}
}

func (s *script) perform(o Output) Input {
	switch o := o.(type) {
	case Append:
		if s.journal.records = append(s.journal.records, o.Records...); s.journal.grown {
			return JournalGrown{}
		}
	case Rewrite:
		s.journal = memory{records: o.Records}
		return JournalRewritten{}
	case Confirm:
		s.journal.confirmed = o.Count
	case ToMaster:
		s.toMaster(o)
	case Renumber:
		s.next = uint64(len(o.Again)) + 1
	case Returned:
		s.say("call %d returns %d", o.Number, o.Return.Value)
	case Deadline:
		s.say("init ends all in %v", o.At.Sub(s.now))
	case Log:
		if o.Level >= Warning {
			s.say("log: %s", fmt.Sprintln(append([]any{o.Text}, o.Args...)...))
		}
	case Give:
		s.say("%d gets %d, number %d", o.Signal.PID, o.Signal.Info[0], o.Signal.Seq)
	case Start:
		s.say("start %d, in group %d", o.Process.PID, o.Process.PGID)
	case OpenSession:
	default:
		s.say("%s", strings.TrimPrefix(fmt.Sprintf("%T %+v", o, o), "core."))
	}
	return nil
}

// toMaster prints a message to the master.
func (s *script) toMaster(o ToMaster) {
	switch m := o.Message.(type) {
	case *wire.Inventory:
		s.say("inventory %v starting %v stopped %v parents %v blocks %v again %d", m.PIDs, m.Starting, m.Stopped, m.Parents, m.Blocks, m.Again)
	case *wire.Events:
		if len(m.Events) > 10 {
			s.manyEvents(m)
			return
		}
		for i, e := range m.Events {
			s.say("%d: %s", m.First+uint64(i), eventText(&e))
		}
	case *wire.Call:
		s.say("call %d: of %d", o.Number, m.Caller)
	case *wire.SignalsTaken:
		text := ""
		for _, mark := range m.Marks {
			text += fmt.Sprintf(" %d of %d", mark.Seq, mark.PID)
		}
		s.say("taken in boot %d:%s", m.Boot, text)
	default:
		s.say("master: %s", strings.TrimPrefix(fmt.Sprintf("%T %+v", m, m), "*wire."))
	}
}

// manyEvents prints the range of the events' numbers, in one line for all messages in a row.
func (s *script) manyEvents(m *wire.Events) {
	first := m.First
	if n := len(s.lines); n > 0 {
		var from, to uint64
		if found, _ := fmt.Sscanf(s.lines[n-1], "%d to %d", &from, &to); found == 2 && to+1 == first {
			first, s.lines = from, s.lines[:n-1]
		}
	}
	s.say("%d to %d", first, m.Last())
}

func eventText(e *wire.Event) string {
	text := fmt.Sprintf("%s %d", kindNames[e.Kind], e.PID)
	for _, n := range []struct {
		name  string
		value int
	}{{"parent", int(e.Parent)}, {"pgid", int(e.PGID)}, {"status", int(e.Status)}, {"errno", int(e.Errno)}} {
		if n.value != 0 {
			text += fmt.Sprintf(" %s %d", n.name, n.value)
		}
	}
	return text
}

var kindNames = map[wire.EventKind]string{
	wire.EventSpawned: "Spawned", wire.EventForked: "Forked", wire.EventExeced: "Execed", wire.EventExited: "Exited",
	wire.EventStopped: "Stopped", wire.EventContinued: "Continued", wire.EventGrouped: "Grouped", wire.EventReaper: "Reaper", wire.EventZombie: "Zombie",
}

func (s *script) say(format string, args ...any) {
	s.lines = append(s.lines, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// verbs are the inputs. After the operands come options: a word and its value.
var verbs = map[string]func(s *script, args []string){
	// The master.
	"up":       (*script).up,
	"lost":     func(s *script, _ []string) { s.step(SessionLost{}) },
	"progress": (*script).progress, // EVENT, or "all" and more
	"reparent": func(s *script, args []string) {
		s.message(0, &wire.Reparent{PID: s.pid(args[0]), Parent: s.pid(args[1])})
	}, // PID PARENT
	"killall": func(s *script, _ []string) { s.message(0, &wire.KillAll{}) },
	"return": func(s *script, args []string) {
		s.message(uint64(s.number(args[0])), &wire.Return{Value: int64(s.number(args[1]))})
	}, // NUMBER VALUE
	"served": func(s *script, _ []string) { s.step(Served{}) },
	"hears":  func(s *script, _ []string) { s.heard = s.now }, // at the next check
	"after":  (*script).after,                                 // DURATION: the time passes, and the lease is checked

	// Processes.
	"wanted":  func(s *script, args []string) { s.step(Wanted{s.pid(args[0])}) },                                // PID
	"launch":  (*script).launch,                                                                                 // PID [birth N] [parent N] [session N]
	"found":   func(s *script, args []string) { s.step(Found{s.pids(args, "pids"), s.pids(args, "starting")}) }, // [pids N,...] [starting N,...]: what init has, for the next daemon
	"unasked": func(s *script, args []string) { s.step(Unasked{s.pid(args[0])}) },                               // PID
	"spawned": func(s *script, args []string) { s.step(Spawned{s.pid(args[0])}) },                               // PID
	"reaped":  func(s *script, args []string) { s.step(Reaped{s.pid(args[0])}) },                                // PID
	"events":  (*script).events,                                                                                 // KIND PID [birth N] [pgid N] [status N] [errno N]; ...
	"many":    (*script).many,                                                                                   // COUNT: so many events of one process
	"endall":  func(s *script, _ []string) { s.step(EndAll{}) },

	// Signals.
	"signal": (*script).signal, // PID NUMBER [seq N] [boot N] [group yes] [late N,...] [another yes]: another process has its number now
	"late":   (*script).late,   // held|not-held|all-held [PID#BIRTH,...]...: for each pursued process
	"news":   func(s *script, _ []string) { s.step(News{}) },

	// Everything else.
	"call": func(s *script, args []string) {
		s.step(Call{uint64(s.number(args[0])), &wire.Call{Caller: s.pid(args[1]), Op: wire.CallGetppid}})
	}, // NUMBER CALLER
	"left":   func(s *script, args []string) { s.step(CallLeft{uint64(s.number(args[0]))}) }, // NUMBER
	"blocks": func(s *script, args []string) { s.step(Blocks{s.blocks(args)}) },              // [FIRST+COUNT...]
	"grows":  func(s *script, _ []string) { s.journal.grown = true },                         // the journal, with the next record
	"dies":   func(s *script, _ []string) { s.begin(); s.step(SessionLost{}) },               // the daemon; the next one comes
	"now":    (*script).nowKnown,                                                             // prints what the front end knows, or will know
	"state":  func(s *script, _ []string) { s.lines = strings.Split(strings.TrimSpace(s.core.String()), "\n") },
	"quiet":  func(s *script, _ []string) { s.say("%v", s.core.Quiet()) },
	"delay":  func(s *script, _ []string) { s.say("%v", s.core.HoldBack()) }, // prints how long births are held back
}

// input gives the core an input. It returns the outputs, one a line.
func (s *script) input(verb string, args []string) []string {
	s.Helper()
	f := verbs[verb]
	if f == nil {
		s.Fatalf("unknown input %q", verb)
	}
	s.lines = nil
	f(s, args)
	return s.lines
}

func (s *script) message(number uint64, m wire.Message) { s.step(FromMaster{number, m}) }

func (s *script) progress(args []string) {
	m := &wire.Progress{Event: math.MaxUint64}
	if args[0] != "all" {
		m.Event = uint64(s.number(args[0]))
	}
	s.message(0, m)
}

func (s *script) after(args []string) {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		s.Fatal(err)
	}
	s.now = s.now.Add(d)
	s.step(Heard{s.heard, testLease})
}

func (s *script) up([]string) {
	s.session++
	s.step(SessionUp{s.session, wire.Inventory{Blocks: s.core.Blocks()}})
}

func (s *script) launch(args []string) {
	session := s.session
	if n := s.option(args, "session"); n != 0 {
		session = Session(n)
	}
	pid := s.pid(args[0])
	s.step(Launch{session, &wire.Spawn{PID: pid, PGID: pid, SID: pid, Launch: uint64(s.option(args, "birth")), Parent: wire.PID(s.option(args, "parent"))}})
}

func (s *script) signal(args []string) {
	info := make([]byte, 128)
	info[0] = byte(s.number(args[1]))
	m := &wire.Signal{
		PID: s.pid(args[0]), Info: info, Seq: uint64(s.option(args, "seq")), Boot: uint64(s.option(args, "boot")),
		Seen: uint64(s.option(args, "seen")), Group: slices.Contains(args, "group"),
	}
	s.step(Signal{m, !slices.Contains(args, "another"), s.pids(args, "late")})
}

func (s *script) late(args []string) {
	in := FoundLate{Held: args[0] != "not-held", All: args[0] == "all-held"}
	for _, group := range args[1:] {
		var all []Born
		for word := range strings.SplitSeq(group, ",") {
			if pid, birth, ok := strings.Cut(word, "#"); ok {
				all = append(all, Born{s.pid(pid), uint64(s.number(birth))})
			}
		}
		in.Late = append(in.Late, all)
	}
	s.step(in)
}

// pids returns the processes in an option.
func (s *script) pids(args []string, name string) (all []wire.PID) {
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		for word := range strings.SplitSeq(args[i+1], ",") {
			all = append(all, s.pid(word))
		}
	}
	return all
}

func (s *script) events(args []string) {
	var all []wire.Event
	for part := range strings.SplitSeq(strings.Join(args, " "), "; ") {
		all = append(all, s.event(strings.Fields(part)))
	}
	s.tell(all)
}

// tell gives the core events.
func (s *script) tell(all []wire.Event) {
	states := make([]Known, len(all))
	for i, e := range all {
		states[i] = Known{PID: e.PID, Birth: e.Birth, PGID: e.PGID, Launched: e.PID < pidmap.Node}
	}
	first := s.next
	s.next += uint64(len(all))
	s.step(Told{wire.Events{First: first, Events: all}, states, s.core.Position() + 1})
}

func (s *script) event(args []string) wire.Event {
	e := wire.Event{
		PID: s.pid(args[1]), Birth: uint64(s.option(args, "birth")), PGID: wire.PID(s.option(args, "pgid")),
		Status: wire.Status(s.option(args, "status")), Errno: uint32(s.option(args, "errno")),
	}
	for kind, name := range kindNames {
		if name == args[0] {
			e.Kind = kind
		}
	}
	if e.Kind == 0 {
		s.Fatalf("no event %q", args[0])
	}
	return e
}

func (s *script) many(args []string) {
	s.tell(slices.Repeat([]wire.Event{{Kind: wire.EventReaper, PID: pidmap.Node}}, s.number(args[0])))
}

func (s *script) blocks(args []string) (all []wire.Block) {
	for _, word := range args {
		first, count, _ := strings.Cut(word, "+")
		all = append(all, wire.Block{First: s.pid(first), Count: int32(s.number(count))})
	}
	return all
}

func (s *script) nowKnown([]string) {
	known := s.core.Known()
	for _, pid := range slices.Sorted(maps.Keys(known)) {
		k := known[pid]
		s.say("%d birth %d parent %d pgid %d starting %v", k.PID, k.Birth, k.Parent, k.PGID, k.Starting)
	}
}

func (s *script) number(word string) int {
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		s.Fatal(err)
	}
	return int(n)
}

func (s *script) pid(word string) wire.PID { return wire.PID(s.number(word)) }

// option returns the value of an option; 0: it is missing.
func (s *script) option(args []string, name string) int {
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		return s.number(args[i+1])
	}
	return 0
}
