package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"bproc/internal/copy/source"
	"bproc/internal/copy/target"
)

// Agent is the part of a copy on one machine.
type Agent struct {
	In  io.Reader // messages of the transfer
	Out io.Writer // messages to the transfer

	// Feeds returns the connection to the agent of a node that other agents cannot reach. Only the
	// agent of the front end has feeds.
	Feeds func(id int) *Conn

	conn     *Conn
	setup    Setup
	config   *tls.Config
	target   *target.Target // nil if it does not receive
	own      *local         // feeds target
	listener *listener      // nil if it does not listen
	inlet    *inlet
	links    map[int]*link // to peers
	written  atomic.Int64

	connect chan Connect
	start   chan Start

	mu    sync.Mutex
	hub   *hub
	from  int           // source of the stream
	in    io.Reader     // the stream; nil if it is made here
	feeds map[int]*feed // by the agent that receives them
	gone  map[int]bool  // agents that were dropped
}

// errSession is the cause of a context that ended with the transfer.
var errSession = errors.New("the copy was given up")

// Run takes part in a copy, and returns when the copy is over. The error says that the transfer has
// ended, or that it has another version.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.conn = NewConn(a.In, a.Out)
	a.connect, a.start = make(chan Connect, 1), make(chan Start, 1)
	a.links, a.feeds, a.gone = map[int]*link{}, map[int]*feed{}, map[int]bool{}
	first, err := a.conn.Receive()
	if err != nil {
		return err
	}
	setup, ok := first.(Setup)
	if !ok || setup.Version != Version {
		return fmt.Errorf("this bpcp is of another version than that of the front end")
	}
	a.setup = setup
	a.inlet = newInlet(a.conn, setup.ID)
	if path, err := a.prepare(); err != nil {
		return a.conn.Send(Ready{Failed: err.Error(), Path: path})
	}
	defer a.close()
	ready := Ready{}
	if a.listener != nil {
		ready.Port = a.listener.port()
		go a.listener.run(ctx)
	}
	if err := a.conn.Send(ready); err != nil {
		return err
	}
	// Run does not wait for this goroutine, which ends with its input.
	go a.messages(cancel)
	return a.takePart(ctx)
}

// prepare does the steps that can fail before anything is copied. The path is the subject of the
// error.
func (a *Agent) prepare() (path string, err error) {
	if a.config, err = configuration(a.setup.Certificate, a.setup.Key); err != nil {
		return "", err
	}
	if a.setup.Dir != "" {
		if err := os.Chdir(string(a.setup.Dir)); err != nil {
			return "", fmt.Errorf("relative paths begin in the working directory: %w", err)
		}
	}
	if to := a.setup.Receive; to != nil {
		a.target, err = target.Open(target.Options{
			Path: string(to.Path), Names: to.Names, Recursive: to.Recursive, Many: to.Many, Preserve: to.Preserve, SameMachine: a.setup.Send != nil,
			Problem: a.problem, Written: a.written.Store,
		})
		switch {
		case err != nil && a.setup.Send == nil:
			return string(to.Path), err
		case err != nil: // others may receive what this agent sends
			a.problem(string(to.Path), err)
			a.target = nil
		}
	}
	if a.setup.Address != "" {
		a.listener, err = listen(a.config, a.setup.ID, a.setup.Address)
		if err != nil { // the stream comes in messages
			a.listener = nil
		}
	}
	return "", nil
}

func (a *Agent) close() {
	if a.listener != nil {
		a.listener.stop()
		a.listener.abortAll()
	}
	if a.target == nil {
		return
	}
	if a.own != nil {
		select {
		case <-a.own.done:
		case <-a.own.stalled:
			return // it is in use, perhaps forever
		}
	}
	a.target.Close()
}

// messages reads the messages of the transfer.
func (a *Agent) messages(cancel context.CancelCauseFunc) {
	for {
		m, err := a.conn.Receive()
		if err != nil {
			cancel(errSession)
			return
		}
		switch m := m.(type) {
		case Connect:
			a.connect <- m
		case Start:
			a.start <- m
		case Data:
			a.inlet.put(m.Bytes)
		case DataEnd:
			a.inlet.end(nil)
		case Taken:
			a.take(m)
		case Drop:
			a.drop(m.ID)
		}
	}
}

func (a *Agent) take(m Taken) {
	a.mu.Lock()
	f := a.feeds[m.ID]
	a.mu.Unlock()
	if f != nil {
		f.take(m.Bytes)
	}
}

// drop ends the connection to or from an agent, even if it is set up later.
func (a *Agent) drop(id int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone[id] = true
	if a.hub != nil {
		a.dropLocked(id)
	}
}

func (a *Agent) dropLocked(id int) {
	a.hub.drop(id)
	if l, ok := a.in.(*link); ok && a.from == id {
		l.abort()
	}
}

// problem reports a file that could not be copied.
func (a *Agent) problem(path string, err error) {
	_ = a.conn.Send(Problem{path, err.Error()}) // the context ends with the transfer
}

// takePart connects and copies.
func (a *Agent) takePart(ctx context.Context) error {
	select {
	case c := <-a.connect:
		if err := a.conn.Send(Connected{a.connectTo(ctx, c.Peers)}); err != nil {
			return err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case s := <-a.start:
		if a.listener != nil {
			a.listener.stop()
		}
		return a.copy(ctx, s)
	case <-ctx.Done():
		for _, l := range a.links {
			l.abort()
		}
		return context.Cause(ctx)
	}
}

// connectTo connects to peers concurrently, and returns those that cannot be reached.
func (a *Agent) connectTo(ctx context.Context, peers []Peer) (failed []int) {
	var group sync.WaitGroup
	for _, p := range peers {
		group.Go(func() {
			l, err := dial(ctx, a.config, a.setup.ID, p)
			a.mu.Lock()
			defer a.mu.Unlock()
			if err != nil {
				failed = append(failed, p.ID)
				return
			}
			a.links[p.ID] = l
		})
	}
	group.Wait()
	return failed
}

// PeerAddress returns the address of a peer, from the node's address in the table and a port.
func PeerAddress(node string, port int) string {
	return net.JoinHostPort(Host(node), strconv.Itoa(port))
}

// Host returns the address of a node without the port.
func Host(node string) string {
	host, _, err := net.SplitHostPort(node)
	if err != nil {
		return node
	}
	return host
}

// sendOf returns the source of this agent.
func (a *Agent) sendOf() *source.Source {
	s := a.setup.Send
	src := &source.Source{Paths: s.Paths, Names: s.Names, Recursive: s.Recursive, Xattrs: s.Xattrs, Problem: a.problem}
	if a.target != nil {
		src.Below = a.target.Inside()
	}
	return src
}
