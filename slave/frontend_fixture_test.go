package slave

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
	"bproc/wire/link"
)

// front is a front end with one node. It knows of processes only what the node reports, and fails
// the test if reports do not fit.
type front struct {
	t        *testing.T
	listener *link.Listener
	token    string
	done     sync.WaitGroup

	mu       sync.Mutex
	random   *rand.Rand
	changed  sync.Cond
	session  *frontSession
	sessions int
	procs    map[wire.PID]wire.PID // parents
	ever     map[wire.PID]wire.PID // parents of all that have ever existed
	jobs     map[wire.PID]*job
	granted  wire.PID
	lend     <-chan struct{} // numbers are not sent before it is closed; nil: at once
	refused  bool            // the node serves no client any more, since it leaves
	leaving  bool            // the node has said so; another stream may be faster
	left     bool            // the node has said that it has no processes any more
}

// frontSession is one session, as the front end sees it.
type frontSession struct {
	*link.Session
	control link.Stream
	write   sync.Mutex
	event   uint64
	again   uint64
}

// records are a table in memory.
type records map[string][]byte

func (r records) All() (map[string][]byte, error) { return r, nil }
func (r records) Change(c map[string][]byte) error {
	maps.Copy(r, c)
	return nil
}

func newFront(t *testing.T, seed uint64) *front {
	t.Helper()
	f := &front{
		t: t, random: rand.New(rand.NewPCG(seed, 2)), procs: map[wire.PID]wire.PID{}, ever: map[wire.PID]wire.PID{},
		jobs: map[wire.PID]*job{}, granted: pidmap.Node,
	}
	f.changed.L = &f.mu
	authority, err := link.OpenAuthority(records{}, records{})
	if err != nil {
		t.Fatal(err)
	}
	if f.token, _, err = authority.NewToken(link.Terms{Life: time.Hour}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.listener, err = link.Listen(link.ListenConfig{
		Addr: "127.0.0.1:0", Authority: authority, Lease: time.Minute, Log: slog.New(slog.DiscardHandler),
		Joined: func(link.Joining) (wire.NodeID, wire.Block, error) { return 0, wire.Block{}, nil },
		Admit:  func(link.Peer) error { return nil },
		Accept: func(_ link.Peer, s *link.Session) {
			f.done.Go(func() { _ = s.Run(ctx) }) // the test decides whether sessions may end
			f.done.Go(func() { f.serve(ctx, s) })
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.done.Go(func() { _ = f.listener.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		f.done.Wait()
		if f.refused && !f.leaving {
			t.Error("the node has refused a client as one does that leaves, and has not said that it leaves")
		}
	})
	return f
}

// serve handles the messages of a node on its control stream.
func (f *front) serve(ctx context.Context, l *link.Session) {
	control, err := l.Accept(ctx)
	if err != nil {
		return
	}
	s := &frontSession{Session: l, control: control}
	for frames := wire.NewReader(control); ; {
		m, _, err := frames.Read()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *wire.Inventory:
			f.begin(s, m)
		case *wire.Events:
			f.events(s, m)
		case *wire.BlocksWanted:
			f.grant(s, int(m.Blocks))
		case *wire.Leaving:
			f.mu.Lock()
			f.leaving, f.left = true, f.left || m.Empty
			f.changed.Broadcast()
			f.mu.Unlock()
			if m.Empty {
				l.Close(nil)
			}
		case *wire.SignalsTaken, *wire.BlocksReturned:
		default:
			f.t.Errorf("the node says %T", m)
		}
	}
}

func (s *frontSession) say(m wire.Message) {
	s.write.Lock()
	defer s.write.Unlock()
	_ = wire.Write(s.control, 0, m) // a lost session is followed by another
}

func (f *front) grant(s *frontSession, blocks int) {
	f.mu.Lock()
	m := new(wire.BlocksGranted)
	for range blocks {
		m.Blocks = append(m.Blocks, wire.Block{First: f.granted, Count: 1024})
		f.granted += 2048
	}
	f.mu.Unlock()
	s.say(m)
}

// begin compares an inventory with what the front end knows.
func (f *front) begin(s *frontSession, m *wire.Inventory) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.again = m.Again
	for pid := range f.procs {
		if j := f.jobs[pid]; j != nil && !j.spawned {
			continue // it is asked for again
		}
		if !slices.Contains(m.PIDs, pid) && m.Again == 0 {
			f.t.Errorf("process %d is lost", pid)
		}
	}
	for _, pid := range m.PIDs {
		if _, known := f.procs[pid]; !known && m.Again == 0 {
			f.t.Errorf("process %d comes from nowhere", pid)
		}
	}
	f.session = s
	f.sessions++
	if len(m.Blocks) == 0 {
		lend := f.lend
		f.done.Go(func() {
			if lend != nil {
				<-lend
			}
			f.grant(s, 2)
		})
	}
	for pid, j := range f.jobs {
		if j.failed {
			continue
		}
		f.done.Go(func() { j.attach(s, slices.Contains(m.PIDs, pid)) })
	}
	f.changed.Broadcast()
}

// events takes in events.
func (f *front) events(s *frontSession, m *wire.Events) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.First != s.event+1 {
		f.t.Errorf("event %d follows %d", m.First, s.event)
	}
	for _, e := range m.Events {
		s.event++
		f.event(&e, s.event <= s.again)
	}
	f.changed.Broadcast()
	if at := s.event; f.random.IntN(3) > 0 {
		f.done.Go(func() { s.say(&wire.Progress{Event: at}) })
	}
}

func (f *front) event(e *wire.Event, again bool) {
	_, known := f.procs[e.PID]
	switch e.Kind {
	case wire.EventForked:
		parent, there := f.procs[e.Parent]
		switch {
		case known && !again:
			f.t.Errorf("%d is born twice", e.PID)
		case !known && !there && !again:
			f.t.Errorf("%d is born of %d, who is not there (%d)", e.PID, e.Parent, parent)
		}
		f.procs[e.PID], f.ever[e.PID] = e.Parent, e.Parent
	case wire.EventSpawned:
		f.spawned(e)
	case wire.EventExited:
		if !known && !again {
			f.t.Errorf("%d ends, who is not there", e.PID)
		}
		delete(f.procs, e.PID)
		if j := f.jobs[e.PID]; j != nil {
			if j.over && j.status != e.Status {
				f.t.Errorf("%d ends with %#x and %#x", e.PID, j.status, e.Status)
			}
			j.over, j.status = true, e.Status
		}
	default: // does not change the set of processes
	}
}

// spawned takes in the result of a start. A start that fails is of a daemon that died before it had
// asked init.
func (f *front) spawned(e *wire.Event) {
	j := f.jobs[e.PID]
	if e.Errno == 0 && e.Stage == 0 {
		j.spawned = true
		return
	}
	if j.spawned || unix.Errno(e.Errno) != unix.ECONNRESET {
		f.t.Errorf("%v is not started: %v", j, unix.Errno(e.Errno))
	}
	j.failed = true
	delete(f.procs, e.PID)
}

// signal sends a signal. The lock is held.
func (f *front) signal(pid wire.PID, signal unix.Signal) {
	info := make([]byte, 128)
	info[0] = byte(signal)
	f.session.say(&wire.Signal{PID: pid, Info: info, Seen: max(f.session.event, f.session.again), Seq: 1})
}

// await waits until ok returns true. It is called with the lock held.
func (f *front) await(what string, ok func() bool) {
	f.t.Helper()
	timer := time.AfterFunc(5*time.Minute, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changed.Broadcast()
	})
	defer timer.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	for begun := time.Now(); !ok(); f.changed.Wait() {
		if time.Since(begun) >= 5*time.Minute {
			f.t.Fatalf("%s: not so after five minutes; processes: %v", what, f.procs)
		}
	}
}

// job is a process that was started from the front end, and its client.
type job struct {
	f     *front
	spawn wire.Spawn
	input []byte

	// Guarded by the lock of the front end.
	spawned, failed, over bool
	status                wire.Status
	got                   [2]uint64
	text                  [2]bytes.Buffer
	ended                 [2]bool
}

// start has a process started.
func (f *front) start(pid wire.PID, input []byte, argv ...string) *job {
	j := &job{f: f, input: input, spawn: wire.Spawn{
		PID: pid, Parent: 5, PGID: 5, SID: 5, Launch: uint64(pid) * 7,
		Command: wire.Command{Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/", Umask: 0o22},
	}}
	for fd := range j.spawn.Command.Stdio {
		j.spawn.Command.Stdio[fd].Mode = wire.DescriptorStream
	}
	f.mu.Lock()
	f.jobs[pid] = j
	f.procs[pid] = 5
	s := f.session
	f.mu.Unlock()
	f.done.Go(func() { j.attach(s, false) })
	return j
}

// attach is the client in one session: it starts the process, unless the node has it, and goes on
// with its descriptors.
func (j *job) attach(s *frontSession, there bool) {
	f := j.f
	f.mu.Lock()
	got, spawned := j.got, j.spawned
	over := j.failed || j.ended == [2]bool{true, true}
	f.mu.Unlock()
	if over {
		return
	}
	stream, err := s.Open(context.Background())
	if err != nil {
		return
	}
	// The stream is not closed before the session ends, since the node takes an open one for a
	// present client.
	taken := uint64(0)
	frames := wire.NewReader(stream)
	if there || spawned {
		err = wire.Write(stream, 0, &wire.Resume{PID: j.spawn.PID, Launch: j.spawn.Launch, Output: got})
		if err != nil {
			return
		}
		m, _, err := frames.Read()
		if err != nil {
			return
		}
		switch r := m.(*wire.Resumed); {
		case r.Errno == 0:
			taken = r.Taken
		case spawned && unix.Errno(r.Errno) == unix.EHOSTDOWN:
			f.mu.Lock()
			f.refused = true
			f.mu.Unlock()
			return
		case spawned:
			f.t.Errorf("%d cannot be gone on with from %v: %v", j.spawn.PID, got, unix.Errno(r.Errno))
			return
		default: // the client is told that the process could not be started
			return
		}
	} else if err := wire.Write(stream, 0, &j.spawn); err != nil {
		return
	}
	j.carry(stream, frames, taken, got)
}

// carry carries bytes both ways. acked counts the bytes of the outputs that were taken before.
func (j *job) carry(stream link.Stream, frames *wire.Reader, taken uint64, acked [2]uint64) {
	var writing sync.Mutex
	say := func(t wire.Type, number uint64, data []byte) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = stream.Write(wire.AppendData(nil, t, number, data)) // the reader notices that the session is lost
	}
	progress := make(chan uint64, 1<<12)
	progress <- taken
	defer close(progress)
	j.f.done.Go(func() {
		sent := taken
		for taken := range progress {
			for sent < uint64(len(j.input)) && sent-taken < wire.Window {
				n := min(uint64(len(j.input))-sent, wire.Window-(sent-taken), 30_000)
				say(wire.TypeStdin, 0, j.input[sent:sent+n])
				sent += n
			}
			if sent == uint64(len(j.input)) {
				say(wire.TypeStdin, 0, nil)
				sent = math.MaxUint64
			}
		}
	})
	for i, got := range acked {
		say(wire.TypeStdoutTaken+wire.Type(i), got, nil)
	}
	for {
		h, data, err := frames.Next()
		switch {
		case err != nil:
			return
		case h.Type == wire.TypeStdinTaken:
			progress <- h.Number
		default:
			i := int(h.Type - wire.TypeStdout)
			if got := j.output(i, data); got-acked[i] > 50_000 {
				acked[i] = got
				say(wire.TypeStdoutTaken+wire.Type(i), got, nil)
			}
		}
	}
}

// output takes in what the process writes.
func (j *job) output(i int, data []byte) uint64 {
	f := j.f
	f.mu.Lock()
	defer f.mu.Unlock()
	j.ended[i] = j.ended[i] || len(data) == 0
	j.got[i] += uint64(len(data))
	j.text[i].Write(data)
	f.changed.Broadcast()
	return j.got[i]
}

func hexSum(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

func (j *job) finished() bool { return j.over && j.ended == [2]bool{true, true} }

func (j *job) String() string { return fmt.Sprint(j.spawn.PID, " ", j.spawn.Command.Argv) }
