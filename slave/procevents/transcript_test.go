package procevents_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bproc/internal/coretest"
	"bproc/slave/core"
	"bproc/slave/procevents"
	"bproc/wire"
)

// TestTranscripts replays the inputs of testdata/*.txt and compares the events with those in the
// file.
//
// A line is a time in milliseconds and an input, a comment, or (indented) an event that results
// from the input before it. What happens to processes gathers: the events that are due are fetched
// after a tick, a flush, and the reports of init. Inputs:
//
//	fork PID PARENT [by CREATOR] [TRAITS]
//	exec PID ARGV0 [TRAITS]
//	exit PID STATUS [zombie [TRAITS]] | reaped PID | stop PID SIGNAL | cont PID
//	launching PID [TRAITS] | spawned PID [first] | notspawned PID ERRNO | ended PID STATUS
//	seen PID PARENT [TRAITS] | changed PID [TRAITS] | user PID [TRAITS] | reaper PID 0|1 | death PID SIGNAL
//	late PID SEEN [SENDER] | offspring PID EVENT | meant PID SEEN |
//	renumber | flush | tick
//	beginscan | resync PID:PARENT:PGID:SID:UID:STATE[ending] ...
//
// Traits are pgid N, sid N, uid N, euid N, gid N and egid N. Others are as before, or as the
// creator's.
func TestTranscripts(t *testing.T) {
	coretest.Walk(t, "testdata/*.txt", newPlayer)
}

// traits are what a made-up process inherits.
type traits struct {
	argv        string
	pgid, sid   wire.PID
	user, group wire.IDs
}

// player is a tracker, with its state of the made-up kernel.
type player struct {
	t         *testing.T
	tracker   *procevents.Tracker
	now       time.Time
	next      uint64
	processes map[wire.PID]*traits
	zombies   map[wire.PID]*traits
	starting  map[wire.PID]bool // processes whose own exec was not recorded
}

func newPlayer(t *testing.T) func(line string) []string {
	p := &player{t: t, next: 1, processes: map[wire.PID]*traits{}, zombies: map[wire.PID]*traits{}, starting: map[wire.PID]bool{}}
	p.tracker = procevents.NewTracker(2*time.Millisecond, func(pid wire.PID) (procevents.Image, bool) {
		if process, ok := p.processes[pid]; ok {
			return procevents.Image{Argv: []string{process.argv}}, true
		}
		if z, ok := p.zombies[pid]; ok {
			return procevents.Image{Comm: z.argv}, true
		}
		return procevents.Image{}, false
	})
	p.tracker.KeepZombies(func(pid wire.PID) (procevents.ProcessInfo, bool) {
		if z := p.zombies[pid]; z != nil {
			return procevents.ProcessInfo{PGID: z.pgid, SID: z.sid, User: z.user, Group: z.group}, true
		}
		return procevents.ProcessInfo{}, false
	})
	return p.line
}

// line feeds an input at its time, and returns the resulting events.
func (p *player) line(line string) []string {
	words := strings.Fields(line)
	p.now = time.Unix(0, 0).Add(time.Duration(p.number(words[0])) * time.Millisecond)
	lines := p.input(words[1], words[2:])
	if !slices.Contains([]string{"tick", "flush", "launching", "spawned", "notspawned", "ended", "renumber"}, words[1]) {
		return lines
	}
	p.tracker.Look(words[1] == "flush", p.now)
	events := p.tracker.Flush(words[1] == "flush", p.now)
	if events.First != p.next {
		p.t.Errorf("%s: events from %d, want %d", line, events.First, p.next)
	}
	p.next = events.Last() + 1
	for _, e := range events.Events {
		lines = append(lines, show(e))
	}
	return lines
}

func (p *player) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *player) pid(s string) wire.PID { return wire.PID(p.number(s)) }

func (p *player) input(verb string, args []string) []string {
	switch verb {
	case "flush", "tick":
	case "reaped":
		delete(p.zombies, p.pid(args[0]))
	case "beginscan":
		p.tracker.BeginScan()
	case "renumber":
		p.next = 1
		p.tracker.Renumber(nil)
	case "resync":
		return p.resync(args)
	case "late":
		return []string{fmt.Sprint("late ", p.tracker.Late(p.pid(args[0]), uint64(p.number(args[1])), uint32(p.number(append(args, "0")[2]))))}
	case "meant":
		return []string{fmt.Sprint("meant ", p.tracker.Meant(p.pid(args[0]), uint64(p.number(args[1]))))}
	case "offspring":
		var pids []wire.PID
		for _, b := range p.tracker.Offspring(p.pid(args[0]), uint64(p.number(args[1]))) {
			pids = append(pids, b.PID)
		}
		return []string{fmt.Sprint("offspring ", pids)}
	case "fork", "exec", "exit", "stop", "cont":
		p.record(verb, p.pid(args[0]), args[1:])
	default:
		p.word(verb, p.pid(args[0]), args[1:])
	}
	return nil
}

// word feeds a report of init or the daemon.
func (p *player) word(verb string, pid wire.PID, args []string) {
	process := p.processes[pid]
	p.tracker.Look(true, p.now)
	switch verb {
	case "launching":
		process = &traits{}
		p.processes[pid], p.starting[pid] = process, true
		p.set(process, args)
		p.tracker.Launching(core.Asked(&wire.Spawn{
			PID: pid, PGID: process.pgid, SID: process.sid, UID: process.user.Real, GID: process.group.Real,
		}))
		if process.pgid == 0 {
			process.pgid, process.sid = pid, 1
		}
	case "spawned": // "first": before the record of its own exec
		if p.starting[pid] && len(args) == 0 && process != nil {
			p.record("exec", pid, []string{process.argv})
		}
		p.tracker.Spawned(pid)
	case "notspawned":
		p.tracker.SpawnFailed(pid, 0, wire.StageExec, uint32(p.number(args[0])))
	case "unasked":
		if want := len(args) == 0; p.tracker.Unasked(pid) != want {
			p.t.Errorf("%d was not asked for: %v, want %v", pid, !want, want)
		}
	case "ended":
		p.tracker.Ended(&wire.InitStatus{PID: pid, Status: uint32(p.number(args[0]))})
	case "seen":
		if process == nil {
			process = p.zombies[pid]
		}
		p.set(process, args)
		p.tracker.Observe(procevents.ProcessInfo{
			PID: pid, Parent: p.pid(args[0]), PGID: process.pgid, SID: process.sid, User: process.user, Group: process.group,
		}, p.now)
	case "changed":
		p.set(process, args)
		p.tracker.Changed(procevents.ProcessInfo{PID: pid, PGID: process.pgid, SID: process.sid})
	case "user":
		p.set(process, args)
		p.tracker.User(pid, process.user, process.group)
	case "reaper":
		p.tracker.Reaper(pid, p.number(args[0]) != 0)
	case "death":
		p.tracker.Death(pid, p.number(args[0]))
	default:
		p.t.Fatalf("unknown input %q", verb)
	}
}

// set changes traits according to the words.
func (p *player) set(process *traits, args []string) {
	for i := 0; i+1 < len(args); i++ {
		word, n := args[i], args[i+1]
		switch word {
		case "pgid":
			process.pgid = p.pid(n)
		case "sid":
			process.sid = p.pid(n)
		case "uid":
			process.user = same(p.number(n))
		case "gid":
			process.group = same(p.number(n))
		case "euid":
			process.user.Effective, process.user.Saved = uint32(p.number(n)), uint32(p.number(n))
		case "egid":
			process.group.Effective, process.group.Saved = uint32(p.number(n)), uint32(p.number(n))
		}
	}
}

func same(id int) wire.IDs {
	return wire.IDs{Real: uint32(id), Effective: uint32(id), Saved: uint32(id)}
}

func (p *player) record(verb string, pid wire.PID, args []string) {
	r := procevents.Record{PID: pid}
	switch verb {
	case "exit":
		r.Kind, r.Status = procevents.Exited, wire.Status(p.number(args[0]))
		if len(args) > 1 {
			p.zombies[pid] = p.processes[pid]
			p.set(p.zombies[pid], args[2:])
		}
		delete(p.processes, pid)
	case "stop":
		r.Kind, r.Status = procevents.Stopped, wire.Status(p.number(args[0]))
	case "cont":
		r.Kind = procevents.Continued
	case "fork":
		r.Kind, r.Parent = procevents.Forked, p.pid(args[0])
		r.Creator = r.Parent
		if len(args) > 1 && args[1] == "by" {
			r.Creator = p.pid(args[2])
		}
		process := &traits{}
		if creator, ok := p.processes[r.Creator]; ok {
			*process = *creator
		}
		p.processes[pid] = process
	case "exec":
		r.Kind = procevents.Execed
		delete(p.starting, pid)
		if p.processes[pid] == nil {
			p.processes[pid] = &traits{}
		}
		p.processes[pid].argv = args[0]
	}
	if r.Kind == procevents.Forked || r.Kind == procevents.Execed {
		process := p.processes[pid]
		p.set(process, args)
		r.PGID, r.SID, r.User, r.Group = process.pgid, process.sid, process.user, process.group
	}
	p.tracker.Record(r, p.now)
}

func (p *player) resync(args []string) []string {
	var seen []procevents.ProcessInfo
	for _, a := range args {
		f := strings.Split(a, ":")
		seen = append(seen, procevents.ProcessInfo{
			PID: p.pid(f[0]), Parent: p.pid(f[1]), PGID: p.pid(f[2]), SID: p.pid(f[3]),
			User: same(p.number(f[4])), State: f[5][0], Ending: f[5] == "Rending",
		})
	}
	if unplaced := p.tracker.Resync(seen); unplaced != nil {
		return []string{fmt.Sprint("unplaced ", unplaced)}
	}
	return nil
}

var kinds = map[wire.EventKind]string{
	wire.EventSpawned: "Spawned", wire.EventForked: "Forked", wire.EventExeced: "Execed", wire.EventExited: "Exited",
	wire.EventStopped: "Stopped", wire.EventContinued: "Continued", wire.EventGrouped: "Grouped",
	wire.EventUser: "User", wire.EventReaper: "Reaper", wire.EventDeath: "Death", wire.EventZombie: "Zombie",
}

func show(e wire.Event) string {
	s := fmt.Sprintf("%s %d", kinds[e.Kind], e.PID)
	if e.Kind == wire.EventForked {
		s += fmt.Sprintf(" parent %d", e.Parent)
	}
	if e.Maker != 0 {
		s += fmt.Sprintf(" maker %d", e.Maker)
	}
	if e.PGID != 0 {
		s += fmt.Sprintf(" pgid %d", e.PGID)
	}
	if e.SID != 0 {
		s += fmt.Sprintf(" sid %d", e.SID)
	}
	if e.Errno != 0 {
		s += fmt.Sprintf(" stage %d errno %d", e.Stage, e.Errno)
	}
	if withStatus := []wire.EventKind{wire.EventExited, wire.EventZombie, wire.EventStopped, wire.EventReaper, wire.EventDeath}; slices.Contains(withStatus, e.Kind) {
		s += fmt.Sprintf(" status %d", e.Status)
	}
	if e.User != nil {
		s += fmt.Sprintf(" user %d/%d/%d", e.User.Real, e.User.Effective, e.User.Saved)
	}
	if e.Group != nil {
		s += fmt.Sprintf(" group %d/%d/%d", e.Group.Real, e.Group.Effective, e.Group.Saved)
	}
	if e.Argv != nil {
		s += " argv " + strings.Join(e.Argv, " ")
	}
	if e.Comm != "" {
		s += " comm " + e.Comm
	}
	return s
}
