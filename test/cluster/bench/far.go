package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"bproc/test/cluster"
)

// delay is the time that each byte between the slave and a distant master takes, each way.
const delay = time.Millisecond

// farPort is the port of the relay, beside the master's.
const farPort = "3223"

// far is a cluster of one node whose slave is connected to the master through a relay that delays
// all bytes.
type far struct {
	*cluster.Cluster
	listener net.Listener
	relays   sync.WaitGroup
}

func (b *bench) far(ctx context.Context) (*far, error) {
	if b.away != nil {
		return b.away, nil
	}
	c, err := cluster.New(ctx, cluster.Config{Nodes: 1, NoSlaves: true})
	if err != nil {
		return nil, err
	}
	b.away = &far{Cluster: c}
	return b.away, b.away.join(ctx)
}

func (f *far) join(ctx context.Context) (err error) {
	if f.listener, err = f.Front.Listen(ctx, "tcp", ":"+farPort); err != nil {
		return err
	}
	f.relays.Go(func() { f.accept(ctx) })
	token, err := f.Enroll(ctx, 0)
	if err != nil {
		return err
	}
	if _, err := f.Nodes[0].StartDaemon(ctx, false, "bpslave", "--join", token, "front:"+farPort); err != nil {
		return err
	}
	return f.WaitUp(ctx, 0)
}

func (f *far) close() error {
	if f == nil {
		return nil
	}
	err := f.Stop()
	if f.listener != nil {
		err = errors.Join(err, f.listener.Close())
	}
	f.relays.Wait()
	return err
}

func (f *far) accept(ctx context.Context) {
	for {
		slave, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		master, err := f.Front.Dial(ctx, "tcp", "127.0.0.1:2223")
		if err != nil {
			slave.Close()
			continue
		}
		f.relays.Go(func() { late(slave, master) })
		f.relays.Go(func() { late(master, slave) })
	}
}

// late copies from one connection to another, each piece some time after it came.
func late(from, to net.Conn) {
	type piece struct {
		bytes []byte
		due   time.Time
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			buf := make([]byte, 64<<10)
			n, err := from.Read(buf)
			if n > 0 {
				pieces <- piece{buf[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	from.Close()
	to.Close()
	for range pieces { // until the reader ends
	}
}

// forkFarAway is fork.wait with a distant master.
func forkFarAway(ctx context.Context, b *bench) (float64, error) {
	f, err := b.far(ctx)
	if err != nil {
		return 0, err
	}
	calls, err := program("calls.c")
	if err != nil {
		return 0, err
	}
	text, err := output(ctx, f.Front, "bpsh", "0", calls, "fork", "4000")
	if err != nil {
		return 0, err
	}
	var nanoseconds float64
	if _, err := fmt.Sscan(text, &nanoseconds); err != nil {
		return 0, fmt.Errorf("calls: %q: %w", text, errors.Join(err, io.ErrUnexpectedEOF))
	}
	return nanoseconds / 1000, nil
}
