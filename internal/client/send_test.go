package client

import (
	"bytes"
	"io"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/bypass"
)

// TestSaidAtOnce: of what two goroutines have to say at a time nothing is left.
func TestSaidAtOnce(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	conn, master := os.NewFile(uintptr(fds[0]), "client"), os.NewFile(uintptr(fds[1]), "master")
	defer conn.Close()
	var heard sync.WaitGroup
	heard.Go(func() { _, _ = io.Copy(io.Discard, master) })
	defer heard.Wait()
	defer func() { _ = unix.Shutdown(fds[0], unix.SHUT_WR) }()
	s := newStream(new(Client), nil, conn, wire.Attach{}, [3]wire.Descriptor{})
	for round := range uint64(20_000) {
		var both sync.WaitGroup
		both.Go(func() { s.tell(0, round+1) })
		both.Go(func() { s.resize(Size(round)) })
		both.Wait()
		if s.owes() {
			t.Fatalf("round %d: something is left to say", round)
		}
	}
}

// TestMuchAtOnce: past the master goes as much input at once as is worth it, to the master one frame; in
// both cases frame after frame, with the end after all.
func TestMuchAtOnce(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	conn, node := os.NewFile(uintptr(fds[0]), "client"), os.NewFile(uintptr(fds[1]), "node")
	defer conn.Close()
	defer node.Close()
	past, err := bypass.New(conn, make([]byte, wire.BypassKey), make([]byte, wire.BypassKey))
	if err != nil {
		t.Fatal(err)
	}
	input := make([]byte, wire.AtOnce+wire.MaxData+1)
	for i := range input {
		input[i] = byte(i >> 8)
	}
	for name, tt := range map[string]struct {
		past *bypass.Conn
		want []int // bytes that go at once
	}{
		"past the master": {past, []int{wire.AtOnce, wire.MaxData + 1, 0}},
		"to the master":   {nil, []int{wire.MaxData, wire.MaxData, wire.MaxData, wire.MaxData, wire.MaxData, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStream(new(Client), nil, conn, wire.Attach{}, [3]wire.Descriptor{})
			s.past = tt.past
			s.kept.ring, s.kept.end, s.kept.eof = input, uint64(len(input)), true
			var sent []int
			var all []byte
			for s.unsent() {
				f, _ := s.nextFrame()
				sent = append(sent, len(f.data))
				all = append(all, bytes.Join(f.parts(), nil)...)
			}
			if !slices.Equal(sent, tt.want) {
				t.Errorf("%v bytes go at once, want %v", sent, tt.want)
			}
			var got []byte
			for r := wire.NewReader(bytes.NewReader(all)); ; {
				h, data, err := r.Next()
				if err != nil || h.Type != wire.TypeStdin {
					t.Fatalf("after %d bytes: %+v, %v", len(got), h, err)
				}
				if len(data) == 0 {
					break
				}
				got = append(got, data...)
			}
			if !bytes.Equal(got, input) {
				t.Errorf("the frames have other bytes, %d of %d", len(got), len(input))
			}
		})
	}
}
