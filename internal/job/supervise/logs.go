package supervise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"bproc/internal/client"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
)

// event is a line of the event log.
type event struct {
	Time    time.Time      `json:"time"`
	Event   life.Event     `json:"event"`
	Process string         `json:"process"`
	From    string         `json:"from"`
	To      string         `json:"to"`
	Run     uint64         `json:"run"`
	Node    *client.NodeID `json:"node,omitempty"`
	PID     client.PID     `json:"pid,omitempty"`
	Exit    string         `json:"exit,omitempty"`
	Reason  string         `json:"reason,omitempty"`
}

// logs are the open logs of a process.
type logs struct {
	stdout, stderr *place.Log
	events         place.Events
	out, bad       *output

	failed  chan struct{} // has an element when there is a new error
	unread  chan struct{} // closed when readers of the outputs are not waited for any more
	abandon sync.Once

	mu    sync.Mutex
	lost  error // first error by which output was lost
	first error // first other error
}

func openLogs(s *Supervisor) (*logs, error) {
	l := &logs{failed: make(chan struct{}, 1), unread: make(chan struct{})}
	u := place.User{UID: int(s.Spec.UID), GID: int(s.Spec.GID)}
	err := s.Place.MakeLogs(u, s.Spec.Privileged)
	if err == nil {
		l.events = place.Events{Path: s.Place.Events(), UID: u.UID, GID: u.GID}
		err = l.events.Append(nil)
	}
	for stream, f := range map[string]**place.Log{"stdout": &l.stdout, "stderr": &l.stderr} {
		if err == nil {
			*f, err = place.OpenRotated(s.Place.Output(stream), u.UID, u.GID, place.Rotation(s.Process.Logs))
		}
	}
	l.out, l.bad = &output{l, l.stdout, s.Stdout}, &output{l, l.stderr, s.Stderr}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *logs) close() {
	for _, f := range []*place.Log{l.stdout, l.stderr} {
		if f != nil {
			_ = f.Close() // all data is already with the kernel
		}
	}
}

// fail keeps the first error of an operation other than the process itself, which goes on.
func (l *logs) fail(err error) {
	if l == nil {
		return // there is no process
	}
	l.keep(&l.first, err)
}

func (l *logs) keep(to *error, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if *to != nil {
		return
	}
	*to = err
	select {
	case l.failed <- struct{}{}:
	default:
	}
}

// err returns the errors that were kept.
func (l *logs) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.lost, l.first)
}

// trouble returns the errors that were kept, in a line.
func (l *logs) trouble() string {
	if l == nil {
		return ""
	}
	err := l.err()
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

func (l *logs) event(e event) {
	line, err := json.Marshal(e)
	if err == nil {
		err = l.events.Append(append(line, '\n'))
	}
	if err != nil {
		l.fail(err)
	}
}

// unreadDelay is how long readers of the outputs have for what a process has said that was asked to
// end, after its end.
const unreadDelay = 2 * time.Second

// over says that the process was asked to end and has ended.
func (l *logs) over() {
	time.AfterFunc(unreadDelay, func() { l.abandon.Do(func() { close(l.unread) }) })
}

// output is an output of the process: a log and, in the foreground, also the user's. Write never
// fails, since an error would end the connection to the process.
type output struct {
	logs *logs
	log  *place.Log
	also io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.log.Write(p)
	switch {
	case err != nil && n < len(p):
		o.logs.keep(&o.logs.lost, fmt.Errorf("output was lost: %w", err))
	case err != nil:
		o.logs.fail(err)
	}
	if o.also != nil {
		o.copy(p)
	}
	return len(p), nil
}

// copy writes to the user's output, whose reader may have stalled. That is no error: the log has
// everything.
func (o *output) copy(p []byte) {
	written, also, p := make(chan error, 1), o.also, bytes.Clone(p)
	go func() { // not waited for in the second case
		_, err := also.Write(p)
		written <- err
	}()
	select {
	case err := <-written:
		if err != nil {
			o.logs.fail(err)
			o.also = nil
		}
	case <-o.logs.unread:
		o.also = nil
	}
}
