package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Bounds of a request. Its first process waits until the last one has a ghost.
const (
	mostTogether = 16
	togetherTime = 5 * time.Millisecond // for those that are not ready in time
)

// starts are those of this program. Ghosts are forked one after the other in any case (syscall.ForkLock).
var starts together

// together combines the starts of commands that begin at the same time: one request to the master starts all
// commands that differ only in the node and in the end of the environment.
type together struct {
	mu     sync.Mutex
	busy   int      // starts under way
	coming int      // starts that will ask with others, and have not asked yet
	open   *request // waits for more of them; nil: there is none
}

// request is one request of several starts.
type request struct {
	client  *Client
	runs    []*wire.Run
	answers []chan outcome // one for each, with room for its answer
	late    *time.Timer

	// ctx ends when no start waits any more; each start has a context of its own.
	waiting int // once it is sent, starts that have not given up
	ctx     context.Context
	end     context.CancelFunc
}

// outcome tells a start how to go on: with conn, on which the master has its Run already, or, without conn and
// err, by sending the Run itself.
type outcome struct {
	conn *os.File
	err  error
}

// ticket is one start.
type ticket struct {
	of    *together
	alone bool
	asked bool
}

// enter begins a start, which leave ends. The start is alone if no other is under way.
func (t *together) enter() *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := &ticket{of: t, alone: t.busy == 0}
	t.busy++
	if !k.alone {
		t.coming++
	}
	return k
}

func (k *ticket) leave() {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	k.of.busy--
	k.comesNotLocked()
}

// comesNotLocked records that a start has asked, or never will.
func (k *ticket) comesNotLocked() {
	if k.alone || k.asked {
		return
	}
	k.asked = true
	if k.of.coming--; k.of.coming == 0 {
		k.of.sendLocked()
	}
}

// ask adds a process to a request, and waits for the outcome.
func (k *ticket) ask(ctx context.Context, client *Client, run *wire.Run) (*os.File, error) {
	r, answer := k.of.add(k, client, run)
	select {
	case o := <-answer:
		return o.conn, o.err
	case <-ctx.Done():
		if k.of.giveUp(r, run) {
			go func() { // ends with the request
				if o := <-answer; o.conn != nil {
					o.conn.Close()
				}
			}()
		}
		return nil, context.Cause(ctx)
	}
}

// giveUp takes a start back. It reports whether the request has been sent, so that there will be an answer.
func (t *together) giveUp(r *request, run *wire.Run) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != r {
		if r.waiting--; r.waiting == 0 {
			r.end()
		}
		return true
	}
	i := slices.Index(r.runs, run)
	r.runs, r.answers = slices.Delete(r.runs, i, i+1), slices.Delete(r.answers, i, i+1)
	if len(r.runs) == 0 {
		t.open = nil
		r.late.Stop()
		r.end()
	}
	return false
}

func (t *together) add(k *ticket, client *Client, run *wire.Run) (*request, <-chan outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != nil && !t.open.takes(client, run) {
		t.sendLocked()
	}
	if t.open == nil {
		r := &request{client: client}
		r.ctx, r.end = context.WithCancel(context.Background()) //nolint:forbidigo // see its comment
		r.late = time.AfterFunc(togetherTime, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.open == r {
				t.sendLocked()
			}
		})
		t.open = r
	}
	r, answer := t.open, make(chan outcome, 1)
	r.runs, r.answers = append(r.runs, run), append(r.answers, answer)
	if len(r.runs) == mostTogether {
		t.sendLocked()
	}
	k.comesNotLocked()
	return r, answer
}

// sendLocked sends the open request, if there is one.
func (t *together) sendLocked() {
	if r := t.open; r != nil {
		t.open = nil
		r.late.Stop()
		r.waiting = len(r.runs)
		go r.send() // ends with the master's answer, or when nobody waits for that
	}
}

// takes reports whether a process can be added to the request.
func (r *request) takes(client *Client, run *wire.Run) bool {
	first := r.runs[0]
	a, b := &first.Command, &run.Command
	return *r.client == *client && first.HangUp == run.HangUp && first.Report == run.Report && first.Ends == run.Ends &&
		a.Path == b.Path && slices.Equal(a.Argv, b.Argv) && a.Dir == b.Dir && a.OnlyDir == b.OnlyDir &&
		a.Ignored == b.Ignored && a.Stdio == b.Stdio && a.View == b.View && a.Terminal == nil && b.Terminal == nil
}

// send makes the request and gives each start its outcome. Starts that the master does not take together ask one
// by one.
func (r *request) send() {
	defer r.end()
	var conns []*os.File
	var err error
	if len(r.runs) > 1 {
		conns, err = r.exchange()
	}
	var refused *Error
	if errors.As(err, &refused) || errors.Is(err, ErrNoMaster) { // nothing was begun
		err = nil
	}
	for i, answer := range r.answers {
		o := outcome{err: err}
		if i < len(conns) {
			o = outcome{conn: conns[i]}
		}
		answer <- o
	}
}

// message returns the request. It contains the common beginning of all environments once.
func (r *request) message() *wire.RunMany {
	first := r.runs[0]
	m := &wire.RunMany{Version: first.Version, HangUp: first.HangUp, Command: first.Command, Report: first.Report, Ends: first.Ends}
	common := first.Command.Env
	for _, run := range r.runs {
		env := run.Command.Env
		n := 0
		for n < min(len(common), len(env)) && common[n] == env[n] {
			n++
		}
		common = common[:n]
	}
	m.Command.Env = common
	for _, run := range r.runs {
		m.Runs = append(m.Runs, wire.OneRun{Node: run.Node, Ghost: run.Ghost, Launch: run.Launch, Env: run.Command.Env[len(common):]})
	}
	return m
}

// exchange sends the request, and returns the connections of the first processes. There are none if the request is
// too long.
func (r *request) exchange() ([]*os.File, error) {
	frame, err := wire.Append(nil, 0, r.message())
	if errors.Is(err, wire.ErrFrame) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	conn, err := r.client.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := within(r.ctx, conn)
	defer func() { _ = stop() }()
	if _, err := conn.Write(frame); err != nil {
		return nil, broken(err)
	}
	return receiveConnections(conn)
}

// receiveConnections reads the answer to RunMany. If the error is EMFILE, the first connections are returned, too.
func receiveConnections(conn *os.File) (conns []*os.File, err error) {
	text := make([]byte, 512)
	n, fds, err := receiveRights(conn, text, wire.MaxRuns)
	if err != nil {
		return nil, broken(err)
	}
	if conns, err = filesOf(fds); err == nil {
		var m wire.Message
		m, _, err = wire.NewReader(io.MultiReader(bytes.NewReader(text[:n]), conn)).Read()
		if err != nil {
			err = broken(err)
		} else {
			err = allCame(m, len(conns))
		}
	}
	if err != nil && !errors.Is(err, unix.EMFILE) {
		for _, c := range conns {
			c.Close()
		}
		return nil, err
	}
	return conns, err
}

// allCame checks an answer that has come with so many connections. The kernel leaves out descriptors for which
// this process has no room: the last processes are lost then.
func allCame(m wire.Message, came int) error {
	m, err := accepted(m)
	if err != nil {
		return err
	}
	answer, ok := m.(*wire.Connections)
	switch {
	case !ok:
		return unexpected(m)
	case int(answer.Count) > came:
		return fmt.Errorf("connection of a process: %w", unix.EMFILE)
	}
	return nil
}

// filesOf returns the sockets that have come with a message.
func filesOf(fds []int) (files []*os.File, err error) {
	for _, fd := range fds {
		err = errors.Join(err, unix.SetNonblock(fd, true))
		files = append(files, os.NewFile(uintptr(fd), "connection of a process"))
	}
	return files, err
}
