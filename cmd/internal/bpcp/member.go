package bpcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/copy/agent"
)

// member is an agent as its transfer knows it. Only the transfer's goroutine changes it.
type member struct {
	id    int
	node  client.NodeID
	host  string // its address; empty if it has none
	setup agent.Setup

	conn  *agent.Conn    // carries messages in both directions, after the start
	input io.WriteCloser // carries messages to the agent; closing it ends the agent
	stop  context.CancelFunc
	cmd   *client.Cmd // nil if the agent is in this process

	up        atomic.Bool // it passes the stream to the front end in messages
	port      int         // its listening port
	failed    map[int]bool
	from      int // source of its stream, see [agent.Start]
	ready     bool
	connected bool
	done      bool
	broken    bool // it has lost the stream
	slow      bool // it has held up others
	out       bool // it no longer takes part
	ended     bool // its agent has ended, or never started
	written   int64
}

// address returns the address to which other agents connect, or "".
func (m *member) address() string {
	if m.port == 0 || m.host == "" {
		return ""
	}
	return agent.PeerAddress(m.host, m.port)
}

// event is a message of a member, or the member's end.
type event struct {
	member *member
	said   any   // nil: the member has ended
	err    error // why it ended before it was done
	sig    unix.Signal
}

// start starts the agent. The agent's messages and end become events.
func (t *transfer) start(ctx context.Context, m *member) error {
	toAgent, input := io.Pipe()
	output, fromAgent := io.Pipe()
	var end func() event
	if m.node == client.FrontEnd {
		end = t.startHere(ctx, m, toAgent, fromAgent)
	} else {
		var err error
		if end, err = t.startThere(ctx, m, toAgent, fromAgent); err != nil {
			return err
		}
	}
	m.input, m.conn = input, agent.NewConn(output, input)
	ended := make(chan event, 1)
	go func() {
		ended <- end()
		fromAgent.CloseWithError(nil)
		toAgent.CloseWithError(unix.EPIPE)
	}()
	started := make(chan error, 1)
	go func() {
		err := m.conn.Send(m.setup)
		if err != nil {
			input.CloseWithError(err) // the agent has nothing to wait for
		}
		started <- err
	}()
	go func() {
		t.listen(m)
		output.CloseWithError(unix.EPIPE)
		<-started //nolint:errcheck // the end of the connection says it
		t.events <- <-ended
	}()
	return nil
}

// startHere starts the agent of the front end, in this process.
func (t *transfer) startHere(ctx context.Context, m *member, in io.Reader, out io.Writer) (end func() event) {
	ctx, m.stop = context.WithCancel(ctx)
	a := &agent.Agent{In: in, Out: out, Feeds: func(id int) *agent.Conn { return t.members[id].conn }}
	return func() event {
		err := a.Run(ctx)
		m.stop()
		return event{member: m, err: err}
	}
}

// startThere starts the agent of a node.
func (t *transfer) startThere(ctx context.Context, m *member, in *io.PipeReader, out io.Writer) (end func() event, err error) {
	words := new(lastWords)
	for _, program := range []string{t.copier.program(), programName} {
		m.cmd = t.copier.Client.Command(m.node, program, "--"+agentFlag)
		// The agent itself changes to the directory of relative paths, if there are any.
		m.cmd.Dir, m.cmd.HangUp = "/", true
		m.cmd.Stdin, m.cmd.Stdout, m.cmd.Stderr = client.InputPipe{PipeReader: in}, out, words
		if err = m.cmd.Start(ctx); !errors.Is(err, unix.ENOENT) {
			break
		}
	}
	if err != nil {
		return nil, whyNotStarted(err)
	}
	m.stop = func() { _ = m.cmd.Signal(unix.SIGKILL) } // the process may have ended
	return func() event {
		status, err := m.cmd.Wait()
		return m.end(status, err, words)
	}, nil
}

// whyNotStarted returns the reason of a failed start. The caller prints the node.
func whyNotStarted(err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Stage == client.StageExec && e.Errno == unix.ENOENT {
		return errors.New("bpcp is not installed there (package bproc-node, or bproc-client)")
	}
	if e.Stage == client.StageNode && e.Errno == unix.EHOSTDOWN && e.Text == "" {
		return errors.New("it is down")
	}
	return errors.New(strings.TrimLeft(strings.TrimPrefix(e.Error(), fmt.Sprintf("node %d", e.Node)), ": "))
}

// end returns the event for the end of a process.
func (m *member) end(status client.Status, err error, words *lastWords) event {
	e := event{member: m}
	sig, signaled := status.Signaled()
	switch {
	case err != nil:
		e.err = whyNotStarted(err)
	case signaled:
		e.sig = unix.Signal(sig)
		e.err = fmt.Errorf("bpcp was killed there by signal %d (%s)", sig, unix.SignalName(e.sig))
	case words.first() != "":
		e.err = errors.New(words.first())
	default:
		e.err = fmt.Errorf("bpcp ended there with exit status %d", status.ExitCode())
	}
	return e
}

// lastWords keeps the beginning of an agent's standard error.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

const maxWords = 4096

func (w *lastWords) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, b[:min(len(b), maxWords-len(w.text))]...)
	return len(b), nil
}

// first returns the first line, without the name of the program.
func (w *lastWords) first() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	line, _, _ := strings.Cut(string(w.text), "\n")
	return strings.TrimPrefix(line, "bpcp: ")
}

// listen passes on the messages of a member until the member ends. At most one member sends parts
// of the stream.
func (t *transfer) listen(m *member) {
	for {
		said, err := m.conn.Receive()
		if err != nil {
			return
		}
		switch said := said.(type) {
		case agent.Data, agent.DataEnd:
			if m.up.Load() {
				_ = t.front.conn.Send(said) // the front end's agent ends with the transfer
			}
		case agent.Taken:
			if m == t.front {
				_ = t.root.conn.Send(agent.Taken{ID: agent.FromSession, Bytes: said.Bytes}) // as above
			} else {
				_ = t.front.conn.Send(agent.Taken{ID: m.id, Bytes: said.Bytes}) // as above
			}
		default:
			t.events <- event{member: m, said: said}
		}
	}
}
