package status_test

import (
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"testing/synctest"

	"bproc/procfs/status"
	"bproc/wire"
)

// TestCloseWaitsForReads checks that procfs stays open during a read, and that no read begins after
// Close.
func TestCloseWaitsForReads(t *testing.T) {
	proc, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	synctest.Test(t, func(t *testing.T) {
		s := status.NewServer(status.Config{
			Proc: proc, Log: slog.New(slog.DiscardHandler), Parent: func(wire.PID) wire.PID { return 0 },
		}, func() uint64 { return 0 })
		fetch := func() net.Conn {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				_ = s.Fetch(theirs, wire.NewReader(theirs), &wire.Fetch{PID: wire.PID(os.Getpid()), Kind: wire.FetchFile, Path: "status"})
			}()
			return ours
		}
		stream := fetch()
		synctest.Wait() // it has read, and its output is not taken
		given := new(closing)
		if err := s.Close(given); err != nil || given.closed {
			t.Errorf("while a read is under way: closed %v, %v", given.closed, err)
		}
		if m, _, err := wire.NewReader(stream).Read(); err != nil {
			t.Errorf("the read that was under way: %v, %v", m, err)
		}
		go func() { _, _ = io.Copy(io.Discard, stream) }() // until it is closed
		synctest.Wait()
		if stream.Close(); !given.closed {
			t.Error("nothing is closed when the last read has ended")
		}
		late := fetch()
		m, _, err := wire.NewReader(late).Read()
		if piece, ok := m.(*wire.Piece); err != nil || !ok || piece.Errno == 0 {
			t.Errorf("a read after Close: %+v, %v", m, err)
		}
		late.Close()
		synctest.Wait()
	})
}

type closing struct{ closed bool }

func (c *closing) Close() error { c.closed = true; return nil }
