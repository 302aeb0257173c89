package master

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/ghost"
	"bproc/internal/recording"
	"bproc/master/core"
	"bproc/wire"
	"bproc/wire/link"
)

// state is the core, and the connections that its outputs are for. A goroutine that has an input
// takes the lock, has the core make its step, and performs the outputs: it writes to outboxes and
// bounded queues, rarely uses the disk, and never waits for a peer.
type state struct {
	m *Master

	mu       sync.Mutex
	core     *core.Core
	ring     *recording.Ring // of the core's inputs; nil: they are not kept
	tables   map[core.Table]records
	sessions map[core.Session]*slaveConn
	clients  map[core.Client]*clientConn
	last     uint64 // last number of a session or client
	keeper   *keeperConn
	soon     *time.Timer // for news
	joined   core.Joined // by the last input
}

// soon is how long acknowledgements and budgets are batched.
const soon = 100 * time.Millisecond

// step gives the core an input and performs the outputs. It does nothing once the context has
// ended: what connections report at the end of the master must not be taken for what their peers
// say.
func (s *state) step(ctx context.Context, in core.Input) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.stepLocked(ctx, in)
	return nil
}

// stepAll is step for several inputs. All their requests to the keeper are sent together.
func (s *state) stepAll(ctx context.Context, inputs []core.Input) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, in := range inputs {
		s.takeLocked(ctx, in)
	}
	s.flushLocked()
	return nil
}

func (s *state) stepLocked(ctx context.Context, in core.Input) {
	s.takeLocked(ctx, in)
	s.flushLocked()
}

func (s *state) takeLocked(ctx context.Context, in core.Input) {
	now := time.Now()
	s.ring.Input(now, in)
	outputs := s.core.Step(now, in)
	for i := 0; i < len(outputs); i++ {
		if next := s.perform(ctx, outputs[i]); next != nil {
			now := time.Now()
			s.ring.Input(now, next)
			outputs = append(outputs, s.core.Step(now, next)...)
		}
	}
}

func (s *state) flushLocked() {
	if s.keeper != nil {
		s.keeper.out.Flush()
	}
}

// look lets a function read the core, which must not change it.
func (s *state) look(look func(*core.Core)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look(s.core)
}

// perform performs an output of the core. It returns the input that follows at once, or nil.
func (s *state) perform(ctx context.Context, o core.Output) core.Input {
	switch o := o.(type) {
	case core.ToKeeper:
		if err := s.keeper.out.Put(o.Number, o.Message); err != nil {
			s.m.log.Warn("keeper does not take a message", "msg", o.Message.Type(), "err", err)
		}
	case core.ToNode:
		if c := s.sessions[o.Session]; c != nil {
			if err := c.out.Put(o.Number, o.Message); err != nil {
				c.link.Close(err)
			}
		}
	case core.Placed, core.Certain, core.Broken, core.CloseSession, core.StopViews, core.Certify:
		s.performOnSession(o)
	case core.Ask:
		return s.m.answer(ctx, o)
	case core.Forget:
		s.m.exits.forget(o.Number)
	case core.Keep:
		return s.keep(ctx, o)
	case core.SetUp:
		return s.m.setUp(o)
	case core.StopSetUp:
		s.m.nodes.Stop(o.Node)
	case core.Kill:
		s.m.kernel.kill(o.PID, o.Signal)
	case core.Log:
		s.m.log.Log(ctx, levels[o.Level], o.Text, o.Args...) //nolint:sloglint // the core's texts are constants
	case core.Born:
		s.m.births.add()
	case core.Soon:
		s.soon.Reset(soon)
	default:
		return s.performOnClient(o)
	}
	return nil
}

// records are a table of the store.
type records interface {
	All() (map[string][]byte, error)
	Begin(records map[string][]byte) (end func() error) // see [store.Table]
}

// keep has records written. Records that the core does not wait for are collected, and another
// goroutine writes them together, so that nothing waits for the disk.
func (s *state) keep(ctx context.Context, o core.Keep) core.Input {
	end := s.tables[o.Table].Begin(o.Records)
	if !o.Later {
		return core.Kept{Number: o.Number, Err: end()}
	}
	s.m.writer.add(0, func() {
		_ = s.step(ctx, core.Kept{Number: o.Number, Err: end()}) // an error says that the master ends; the rest is the next one's
	})
	return nil
}

var levels = map[core.Level]slog.Level{core.Debug: slog.LevelDebug, core.Info: slog.LevelInfo, core.Warning: slog.LevelWarn, core.Error: slog.LevelError}

// performOnSession performs an output on a session, if that still exists.
func (s *state) performOnSession(o core.Output) {
	switch o := o.(type) {
	case core.Placed:
		if c := s.sessions[o.Session]; c != nil {
			c.barrier.Move(o.Event)
		}
	case core.Certain:
		if c := s.sessions[o.Session]; c != nil {
			c.certain.Move(o.Event)
		}
	case core.Broken:
		if c := s.sessions[o.Session]; c != nil {
			c.breakOff()
		}
	case core.CloseSession:
		if c := s.sessions[o.Session]; c != nil {
			c.link.Close(causeOf(o.Cause))
		}
	case core.StopViews:
		if c := s.sessions[o.Session]; c != nil && c.shutViews != nil {
			c.shutViews()
		}
	case core.Certify:
		s.certify(o)
	}
}

// causeOf returns the cause for closing a link, as package link knows it.
func causeOf(cause error) error {
	if errors.Is(cause, core.ErrExpired) {
		return link.ErrExpired
	}
	return cause
}

// certify makes a new certificate for a node.
func (s *state) certify(o core.Certify) {
	c := s.sessions[o.Session]
	if c == nil {
		return
	}
	der, err := s.m.authority.Certify(o.Identity, o.CSR)
	if err == nil {
		s.m.log.Info("the certificate of a node is renewed", "node", o.Node)
		err = c.out.Put(0, &wire.RenewReply{Certificate: der})
	} else {
		s.m.log.Error("the certificate of a node is not renewed; its connection is closed", "node", o.Node, "err", err)
	}
	if err != nil {
		c.link.Close(err)
	}
}

// performOnClient gives an output to a client's goroutine. It returns an input that follows at once if
// the goroutine does not exist any more, or nil.
func (s *state) performOnClient(o core.Output) core.Input {
	switch o := o.(type) {
	case core.Spawn:
		return s.spawn(o)
	case core.Started:
		return s.started(o)
	case core.Resume:
		s.tell(o.Client, step{resume: s.sessions[o.Session]})
	case core.Fail:
		s.tell(o.Client, step{failed: &wire.Failed{Stage: o.Stage, Errno: uint32(o.Errno), Text: o.Text}})
	case core.HandOver:
		h := make(chan handover, 1)
		if from := s.clients[o.From]; from != nil {
			from.tell(step{give: h})
		} else {
			h <- handover{}
		}
		s.tell(o.To, step{take: h})
	case core.Ended:
		if c := s.clients[o.Client]; c != nil {
			c.tellEnded(o.Report)
		}
	case core.Attached:
		s.tell(o.Client, step{resume: s.sessions[o.Session]})
	case core.Reply:
		if c := s.clients[o.Client]; c != nil {
			c.answer = o.Message
		}
	case core.Joined:
		s.joined = o
	}
	return nil
}

// spawn has a client's goroutine ask a node for its process. A client on a node may be gone: its
// connection ends with its node's session.
func (s *state) spawn(o core.Spawn) core.Input {
	c := s.clients[o.Client]
	if c == nil {
		return core.Refuse{Client: o.Client, PID: o.PID, Stage: wire.StageRequest, Errno: unix.ECANCELED}
	}
	c.pid = o.PID
	c.asked++
	c.forgetSteps() // the session of a stream that it has not opened yet is gone
	c.tell(step{sess: s.sessions[o.Session], pid: o.PID, taskGroup: o.TaskGroup, tasks: o.Tasks, asked: c.asked})
	return nil
}

// started tells a client that its process runs. A client that is gone has left it.
func (s *state) started(o core.Started) core.Input {
	c := s.clients[o.Client]
	if c == nil {
		return core.ClientLeft{Client: o.Client, PID: o.PID}
	}
	c.tell(step{})
	return nil
}

// join enters an identity in the node table.
func (s *state) join(ctx context.Context, in core.Join) (core.Joined, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return core.Joined{}, context.Cause(ctx)
	}
	s.stepLocked(ctx, in)
	return s.joined, nil
}

func (s *state) tell(client core.Client, what step) {
	if c := s.clients[client]; c != nil {
		c.tell(what)
	}
}

// enterSession gives a connection of a slave its number.
func (s *state) enterSession(c *slaveConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	c.id = core.Session(s.last)
	s.sessions[c.id] = c
}

func (s *state) leaveSession(c *slaveConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, c.id)
}

// lookFrom notes how to end the looks from a node, and ends them at once if nobody may look from
// there.
func (s *state) lookFrom(c *slaveConn, shut func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.shutViews = shut; s.core.IsDown(c.id) {
		shut()
	}
}

// enterClient gives a connection of a client its number.
func (s *state) enterClient(c *clientConn) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	c.id = core.Client(s.last)
	s.clients[c.id] = c
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.clients, c.id)
	}
}

// giveUp takes the number of a connection back whose launch is not settled. The core may have told its
// goroutine to open the stream of the process, or that the process runs, and nobody has read it.
func (s *state) giveUp(ctx context.Context, c *clientConn, launch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c.id)
	switch {
	case c.asked == 0:
	case c.opened != c.asked:
		s.stepLocked(ctx, core.Refuse{Client: c.id, PID: c.pid, Launch: launch, Stage: wire.StageRequest, Errno: unix.ECANCELED})
	default:
		s.stepLocked(ctx, core.ClientLeft{Client: c.id, PID: c.pid})
	}
}

// keeperIs sets the connection to the keeper. in is the first input of that connection.
func (s *state) keeperIs(ctx context.Context, k *keeperConn, in core.Input) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.keeper = k
	s.stepLocked(ctx, in)
	return nil
}

// heldBy returns the ghosts of a former master, with what a core wants to know of them.
func heldBy(client *ghost.Client, kernel kernel) []core.Held {
	var all []core.Held
	adopted := map[wire.PID]wire.Adopted{}
	for _, how := range client.Adopted() {
		adopted[how.PID] = how
	}
	for _, pid := range client.Held() {
		h := core.Held{PID: pid, Adopted: adopted[pid]}
		h.Adopted.PID = pid
		h.UID, _ = kernel.owner(pid) // 0: it has just ended
		h.Limit, _ = kernel.limit(pid)
		all = append(all, h)
	}
	return all
}

// sessionFor returns the session with a node, for a look at a process of it, or at the node itself
// (0).
func (s *state) sessionFor(node wire.NodeID, pid wire.PID) (*slaveConn, unix.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, errno := s.core.SessionFor(node, pid)
	return s.sessions[id], errno
}

// keepTime gives the core ticks and news, until the context ends.
func (s *state) keepTime(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	defer s.soon.Stop()
	for {
		var in core.Input
		select {
		case <-ticker.C:
			in = core.Tick{}
		case <-s.soon.C:
			in = core.News{}
		case <-ctx.Done():
			return nil
		}
		if err := s.step(ctx, in); err != nil {
			return nil
		}
	}
}
