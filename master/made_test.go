package master

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"bproc/internal/outbox"
	"bproc/master/core"
	"bproc/wire"
	"bproc/wire/link"
)

// newMade returns a master without listeners, with nodes that have joined, and with a silent
// keeper.
func newMade(t *testing.T, nodes ...wire.NodeID) *Master {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	m := &Master{cfg: Config{Mode: 0o111}, log: log, births: newBirths(time.Now()), slow: newWorker(), writer: newWorker(), seats: newSeats(enough), taskGroups: new(taskGroups)}
	var err error
	if m.authority, err = link.OpenAuthority(new(memory), new(memory)); err != nil {
		t.Fatal(err)
	}
	if m.state, err = m.newState(map[core.Table]records{core.Nodes: new(memory), core.Blocks: new(memory)}); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	worked := make(chan struct{})
	go func() { defer close(worked); _ = m.slow.run(ctx) }()
	written := make(chan struct{})
	go func() { defer close(written); _ = m.writer.run(ctx) }()
	t.Cleanup(func() { end(); <-worked; <-written; m.exits.group.Wait(); m.clientEnds.group.Wait() })
	m.state.keeper = &keeperConn{out: outbox.New(func() {})}
	for _, id := range nodes {
		if _, _, err := m.joined(t.Context(), core.Join{Identity: fmt.Sprint("key ", id), Want: id}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// memory is a table of the store in memory.
type memory struct {
	mu      sync.Mutex
	records map[string][]byte
	slow    chan struct{} // a change waits until it can receive from this; nil: it does not wait
}

func (m *memory) All() (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.records), nil
}

func (m *memory) Begin(records map[string][]byte) (end func() error) {
	return func() error { return m.Change(records) }
}

func (m *memory) Change(records map[string][]byte) error {
	if m.slow != nil {
		<-m.slow
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = map[string][]byte{}
	}
	maps.Copy(m.records, records)
	maps.DeleteFunc(m.records, func(_ string, record []byte) bool { return record == nil })
	return nil
}

// input gives the core an input.
func (m *Master) input(t *testing.T, in core.Input) {
	t.Helper()
	if err := m.state.step(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// noLink is a link that is never cut.
type noLink struct{}

func (noLink) Close(error)                                   {}
func (noLink) Connected() (bool, time.Time, <-chan struct{}) { return true, time.Time{}, nil }
func (noLink) Done() <-chan struct{}                         { return nil }

// connect begins a session of a node that has processes.
func (m *Master) connect(t *testing.T, id wire.NodeID, streams opener, pids ...wire.PID) *slaveConn {
	t.Helper()
	c := &slaveConn{m: m, link: noLink{}, streams: streams, node: id, out: outbox.New(func() {}), sampled: newSampled()}
	c.out.Open()
	m.state.enterSession(c)
	m.input(t, core.NodeUp{Session: c.id, Peer: core.Peer{Key: fmt.Sprint("key ", id)}, Inventory: wire.Inventory{PIDs: pids}})
	return c
}

// heldFor returns the ghost of a process of a node that a user has started.
func heldFor(pid wire.PID, node wire.NodeID, uid, starter uint32) core.Held {
	return core.Held{PID: pid, UID: uid, Adopted: wire.Adopted{PID: pid, Owner: uint64(node+1)<<32 | uint64(starter)}}
}
