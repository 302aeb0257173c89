package slave

import (
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/journal"
	"bproc/slave/space"
	"bproc/wire"
	"bproc/wire/link"
)

// TestSessionEndsDuringLaunch: the next session does not wait for a launch that waits for init, and
// the launch comes to nothing, since the front end asks again.
func TestSessionEndsDuringLaunch(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	f := newFront(t, 1)
	j, err := journal.Create(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	r := newIdleRecorder(t, &madeUpRecords{ready: make(chan struct{}, 1)})
	n := &node{
		log: log, recorder: r, state: r.state, out: r.state.out, numbers: &newMadeUpSpace().numbers, tasks: newTasks(log, nil),
		supply: newSupply(), space: new(space.Space),
	}
	waits, goesOn := make(chan struct{}, 10), make(chan struct{})
	n.stdios.Journal, n.stdios.Stamp, n.stdios.Drop = j, r.stamp, func(string) {}
	n.stdios.Keep = func(string, ...*os.File) error {
		waits <- struct{}{}
		<-goesOn
		return nil
	}
	hello, err := greeting()
	if err != nil {
		t.Fatal(err)
	}
	cfg := link.DialConfig{Addr: f.listener.Addr().String(), Hello: hello, Log: log}
	if cfg.Identity, err = link.Join(t.Context(), cfg.Addr, f.token, t.TempDir()+"/identity", "host"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{}, 2)
	session := func() {
		t.Log("session:", n.session(t.Context(), cfg))
		ended <- struct{}{}
	}
	go session()
	f.await("a session", func() bool { return f.sessions == 1 })
	f.start(firstPID, nil, "true")
	<-waits
	f.session.Close(errors.New("cut"))
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the session waits for the launch")
	}

	f.mu.Lock()
	clear(f.jobs) // it is not asked for again
	clear(f.procs)
	f.mu.Unlock()
	go session()
	f.await("another session", func() bool { return f.sessions == 2 })
	close(goesOn)
	n.streams.Wait()
	if known := n.state.known(); len(known) != 0 || n.stdios.Find(firstPID) != nil {
		t.Errorf("the node has %v, which was asked for in another session", known)
	}
	before := r.last()
	r.refuse(1, &wire.Spawn{PID: firstPID}, unix.EMFILE)
	if got := r.last(); got != before {
		t.Errorf("%d events, want %d: the front end is told of a launch of another session", got, before)
	}
	f.session.Close(errors.New("cut"))
	<-ended
}
