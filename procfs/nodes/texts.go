package nodes

import (
	"bytes"
	"fmt"
	"strconv"

	"bproc/internal/procstat"
	"bproc/procfs"
	"bproc/wire"
)

// place has the values that the front end knows better than a node.
type place struct {
	parent wire.PID
	tty    int64 // of its session, as in stat
	fg     int64 // foreground group of the terminal
}

// process is the latest report of a process.
type process struct {
	shown   procfs.Process
	start   uint64 // on its node
	shift   int64  // from that to the time here
	session wire.PID
	parent  wire.PID // here; 0: its ghost tells it
	bare    bool     // it has no terminal on the node
	place   place    // as in the texts
	environ *environ // nil: it has to be fetched
}

// take makes a process of a node's report. Unchanged threads are taken from was, which may be nil.
// Shift is added to start times.
func take(node wire.NodeID, t *wire.Texts, was *process, shift int64) (*process, error) {
	line, err := parseStat(t.Stat, t.PID)
	if err != nil {
		return nil, err
	}
	parent, isParent := line.pid(procstat.Parent)
	session, isSession := line.pid(procstat.Session)
	if !isParent || !isSession {
		return nil, fmt.Errorf("parent or session of %d: %w", t.PID, errForm)
	}
	p := &process{
		start: t.Start, shift: shift, session: session,
		place: place{parent, line.number(procstat.TTY), line.number(procstat.Foreground)},
	}
	p.bare = p.place.tty == 0
	if p.parent = p.place.parent; p.parent == initPID {
		p.parent = t.Parent
	}
	if len(t.Cmdline) > wire.MaxText || len(t.Cgroup) > wire.MaxText || !validStatm(t.Statm) {
		return nil, fmt.Errorf("statm, cmdline or cgroup of %d: %w", t.PID, errForm)
	}
	p.shown = procfs.Process{PID: t.PID, Node: node, Start: t.Start, UID: t.UID, GID: t.GID, Statm: t.Statm, Cmdline: t.Cmdline, Cgroup: t.Cgroup}
	p.shown.Stat = line.shifted(t.Stat, shift)
	if p.shown.Status, err = onNode(t.Status, who{node, t.PID, t.PID}); err != nil {
		return nil, fmt.Errorf("status of %d: %w", t.PID, err)
	}
	if was != nil && was.start != t.Start {
		was = nil
	}
	if was != nil && t.Cgroup == nil {
		p.shown.Cgroup = was.shown.Cgroup
	}
	err = p.takeThreads(t, was)
	return p, err
}

// initPID is the number of the init of a process space.
const initPID = 1

func validStatm(text []byte) bool {
	return len(text) <= 7*(maxField+1) && len(bytes.TrimLeft(text, "0123456789 \n")) == 0
}

// takeThreads applies the report of a process's threads.
func (p *process) takeThreads(t *wire.Texts, was *process) error {
	before := map[wire.PID]procfs.Thread{}
	if was != nil {
		for _, th := range was.shown.Threads {
			before[th.TID] = th
		}
	}
	if len(t.Threads) > wire.MaxThreads {
		return fmt.Errorf("%d threads of %d: %w", len(t.Threads), t.PID, errForm)
	}
	seen := map[wire.PID]bool{}
	left := wire.MaxTexts
	for _, told := range t.Threads {
		if seen[told.TID] || told.TID <= 0 || left <= 0 && len(told.Stat)+len(told.Status) > 0 {
			return fmt.Errorf("thread %d of %d: %w", told.TID, t.PID, errForm)
		}
		seen[told.TID] = true
		left -= len(told.Stat) + len(told.Status)
		th := procfs.Thread{TID: told.TID}
		switch {
		case told.Same && before[told.TID].Stat != nil:
			th = p.placed(before[told.TID])
		case len(told.Stat) > 0 && len(told.Status) > 0: // else they have to be fetched
			var err error
			if th.Stat, err = shifted(told.Stat, told.TID, p.shift); err != nil {
				return err
			}
			if th.Status, err = onNode(told.Status, who{p.shown.Node, t.PID, told.TID}); err != nil {
				return fmt.Errorf("status of thread %d: %w", told.TID, err)
			}
		}
		p.shown.Threads = append(p.shown.Threads, th)
	}
	return nil
}

// shifted returns a line of stat with the start time on this machine.
func shifted(text []byte, pid wire.PID, shift int64) ([]byte, error) {
	line, err := parseStat(text, pid)
	if err != nil {
		return nil, err
	}
	return line.shifted(text, shift), nil
}

// shifted returns the line, whose text is given, with another start time.
func (l *statLine) shifted(text []byte, shift int64) []byte {
	if shift == 0 {
		return text
	}
	// It may be earlier than the boot of this machine, and is 0 then: no program expects less.
	if b := l.with(edit{procstat.Start, max(0, l.number(procstat.Start)+shift)}); b != nil {
		return b
	}
	return text
}

// who identifies the subject of a status text.
type who struct {
	node     wire.NodeID
	pid, tid wire.PID
}

// onNode returns a status text with a line that names the node, unless that is the front end.
// Programs take the numbers in it for those of the process (ps(1) does), so they must be its own.
func onNode(text []byte, of who) ([]byte, error) {
	if len(text) == 0 {
		return nil, nil // it was too long
	}
	if len(text) > wire.MaxText || bytes.IndexByte(text, 0) >= 0 || !bytes.HasSuffix(text, []byte("\n")) {
		return nil, errForm
	}
	var numbers [2]bool // found: of the process, of the thread
	for line := range bytes.Lines(text) {
		name, value, found := bytes.Cut(line, []byte{':'})
		if !found || len(name) == 0 {
			return nil, errForm
		}
		switch string(name) {
		case "Tgid":
			numbers[0] = !numbers[0] && isNumber(value, of.pid)
			found = numbers[0]
		case "Pid":
			numbers[1] = !numbers[1] && isNumber(value, of.tid)
			found = numbers[1]
		case nodeLine:
			found = false
		}
		if !found {
			return nil, errForm
		}
	}
	if numbers != [2]bool{true, true} {
		return nil, errForm
	}
	if of.node == wire.FrontEnd {
		return text, nil
	}
	return fmt.Appendf(bytes.Clone(text), nodeLine+":\t%d\n", of.node), nil
}

// nodeLine is the name of a status line that no kernel writes.
const nodeLine = "BProcNode"

func isNumber(value []byte, pid wire.PID) bool {
	return string(bytes.TrimSpace(value)) == pid.String()
}

// move changes the place of a process in all its texts, and reports whether it was another one. The
// former texts do not change.
func (p *process) move(to place) bool {
	if to == p.place {
		return false
	}
	p.place = to
	p.shown.Stat = p.stat(p.shown.Stat, p.shown.PID)
	p.shown.Status = withParent(p.shown.Status, to.parent)
	all := p.shown.Threads
	p.shown.Threads = nil
	for _, th := range all {
		p.shown.Threads = append(p.shown.Threads, p.placed(th))
	}
	return true
}

// placed returns a thread with the place of the process in its texts.
func (p *process) placed(th procfs.Thread) procfs.Thread {
	if th.Stat != nil {
		th.Stat, th.Status = p.stat(th.Stat, th.TID), withParent(th.Status, p.place.parent)
	}
	return th
}

// stat returns a line of stat with the place of the process in it.
func (p *process) stat(text []byte, pid wire.PID) []byte {
	line, err := parseStat(text, pid)
	if err != nil {
		return text
	}
	edits := []edit{{procstat.Parent, int64(p.place.parent)}, {procstat.TTY, p.place.tty}, {procstat.Foreground, p.place.fg}}
	if !p.bare {
		edits = edits[:1]
	}
	if b := line.with(edits...); b != nil {
		return b
	}
	return text
}

// withParent returns a status text with another parent.
func withParent(text []byte, parent wire.PID) []byte {
	const name = "\nPPid:\t"
	at := bytes.Index(text, []byte(name))
	if at < 0 {
		return text
	}
	at += len(name)
	end := at + bytes.IndexByte(text[at:], '\n')
	is := strconv.AppendInt(nil, int64(parent), 10)
	if end < at || bytes.Equal(text[at:end], is) {
		return text
	}
	return bytes.Join([][]byte{text[:at], is, text[end:]}, nil)
}
