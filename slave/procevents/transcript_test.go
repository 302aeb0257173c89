package procevents_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bproc/slave/procevents"
	"bproc/wire"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// TestTranscripts replays the inputs of testdata/*.txt and compares the events with
// those in the file.
//
// A line is a time in milliseconds and an input, a comment, or (indented) an
// event that the input before it brought out. After each input the events that are
// due are fetched. Inputs:
//
//	fork PID PARENT [by CREATOR] [pgid N] [sid N]    pgid, sid: else the creator's
//	exec PID ARGV0 [pgid N] [sid N]
//	exit PID STATUS
//	launching PID [pgid N sid N] | spawned PID | notspawned PID ERRNO | ended PID STATUS
//	stopped PID SIGNAL | continued PID
//	flush | tick
//	beginscan | resync PID:PARENT:PGID:SID ...
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got != string(want) && !*update {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// player is a tracker and what it needs to know of the made-up kernel.
type player struct {
	t       *testing.T
	tracker *procevents.Tracker
	now     time.Time
	next    uint64
	argv    map[wire.PID]string
	pgid    map[wire.PID]wire.PID
	sid     map[wire.PID]wire.PID
}

func replay(t *testing.T, script string) string {
	p := &player{t: t, next: 1, argv: map[wire.PID]string{}, pgid: map[wire.PID]wire.PID{}, sid: map[wire.PID]wire.PID{}}
	p.tracker = procevents.NewTracker(procevents.DefaultHold, func(pid wire.PID) ([]string, bool) {
		argv, ok := p.argv[pid]
		return []string{argv}, ok
	})
	var out strings.Builder
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		out.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		p.now = time.Unix(0, 0).Add(time.Duration(p.number(words[0])) * time.Millisecond)
		lines := p.input(words[1], words[2:])
		events := p.tracker.Flush(words[1] == "flush", p.now)
		if events.First != p.next {
			t.Errorf("%s: events from %d, want %d", strings.TrimSpace(line), events.First, p.next)
		}
		p.next = events.Last() + 1
		for _, e := range events.Events {
			lines = append(lines, show(e))
		}
		for _, l := range lines {
			fmt.Fprintf(&out, "\t%s\n", l)
		}
	}
	return out.String()
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
	var pid wire.PID
	if len(args) > 0 && verb != "resync" {
		pid = p.pid(args[0])
	}
	switch verb {
	case "flush", "tick":
	case "fork", "exec", "exit":
		p.record(verb, pid, args[1:])
	case "launching":
		p.launch(pid, args[1:])
	case "spawned":
		p.tracker.Spawned(pid)
	case "notspawned":
		p.tracker.SpawnFailed(pid, wire.StageExec, uint32(p.number(args[1])))
	case "ended":
		p.tracker.Ended(pid, wire.Status(p.number(args[1])))
	case "stopped":
		p.tracker.Stopped(pid, p.number(args[1]))
	case "continued":
		p.tracker.Continued(pid)
	case "beginscan":
		p.tracker.BeginScan()
	case "resync":
		return p.resync(args)
	default:
		p.t.Fatalf("unknown input %q", verb)
	}
	return nil
}

func (p *player) launch(pid wire.PID, args []string) {
	spawn := &wire.Spawn{PID: pid}
	p.pgid[pid], p.sid[pid] = pid, 1
	if len(args) == 4 {
		spawn.PGID, spawn.SID = p.pid(args[1]), p.pid(args[3])
		p.pgid[pid], p.sid[pid] = spawn.PGID, spawn.SID
	}
	p.tracker.Launching(spawn)
}

func (p *player) record(verb string, pid wire.PID, args []string) {
	r := procevents.Record{PID: pid}
	switch verb {
	case "exit":
		r.Kind, r.Status = procevents.Exited, wire.Status(p.number(args[0]))
		p.tracker.Record(r, p.now)
		delete(p.argv, pid)
		return
	case "fork":
		r.Kind, r.Parent = procevents.Forked, p.pid(args[0])
		r.Creator = r.Parent
		if len(args) > 1 && args[1] == "by" {
			r.Creator = p.pid(args[2])
		}
		p.pgid[pid], p.sid[pid] = p.pgid[r.Creator], p.sid[r.Creator]
		if argv, ok := p.argv[r.Creator]; ok {
			p.argv[pid] = argv
		}
	case "exec":
		r.Kind = procevents.Execed
		p.argv[pid] = args[0]
	}
	for i := 1; i+1 < len(args); i++ {
		switch args[i] {
		case "pgid":
			p.pgid[pid] = p.pid(args[i+1])
		case "sid":
			p.sid[pid] = p.pid(args[i+1])
		}
	}
	r.PGID, r.SID = p.pgid[pid], p.sid[pid]
	p.tracker.Record(r, p.now)
}

func (p *player) resync(args []string) []string {
	var seen []procevents.ProcessInfo
	for _, a := range args {
		f := strings.Split(a, ":")
		seen = append(seen, procevents.ProcessInfo{PID: p.pid(f[0]), Parent: p.pid(f[1]), PGID: p.pid(f[2]), SID: p.pid(f[3])})
	}
	if unplaced := p.tracker.Resync(seen); unplaced != nil {
		return []string{fmt.Sprint("unplaced ", unplaced)}
	}
	return nil
}

var kinds = map[wire.EventKind]string{
	wire.EventSpawned: "Spawned", wire.EventForked: "Forked", wire.EventExeced: "Execed", wire.EventExited: "Exited",
	wire.EventStopped: "Stopped", wire.EventContinued: "Continued", wire.EventGrouped: "Grouped",
}

func show(e wire.Event) string {
	s := fmt.Sprintf("%s %d", kinds[e.Kind], e.PID)
	if e.Kind == wire.EventForked {
		s += fmt.Sprintf(" parent %d", e.Parent)
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
	if e.Kind == wire.EventExited || e.Kind == wire.EventStopped {
		s += fmt.Sprintf(" status %d", e.Status)
	}
	if e.Argv != nil {
		s += " argv " + strings.Join(e.Argv, " ")
	}
	return s
}
