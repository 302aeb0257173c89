package slave

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

func TestReceive(t *testing.T) {
	for _, test := range []struct {
		name string
		m    wire.Message
		want error
	}{
		{"lease", &wire.BlocksGranted{Blocks: []wire.Block{{First: firstPID, Count: 10}}}, io.EOF},
		{"lease of nothing", new(wire.BlocksGranted), io.EOF},
		{"lease outside of the node zone", &wire.BlocksGranted{Blocks: []wire.Block{{First: firstPID - 1, Count: 10}}}, pidmap.ErrBlocks},
		{"lease of a number twice", &wire.BlocksGranted{Blocks: []wire.Block{{First: firstPID, Count: 10}, {First: firstPID + 9, Count: 1}}}, pidmap.ErrBlocks},
		{"budget", &wire.Budget{UID: 1000, Tasks: 10}, io.EOF},
		{"progress", &wire.Progress{Event: 17}, io.EOF},
		{"answer to no call", new(wire.Return), io.EOF},
		{"certificate that was not asked for", new(wire.RenewReply), io.EOF},
		{"events", new(wire.Events), wire.ErrFrame},
		{"spawn", new(wire.Spawn), wire.ErrFrame},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := slog.New(slog.DiscardHandler)
			n := &node{numbers: &newMadeUpSpace().numbers, tasks: newTasks(log, nil), supply: newSupply()}
			n.state = newTestState(t)
			frame, err := wire.Append(nil, 0, test.m)
			if err != nil {
				t.Fatal(err)
			}
			if err := n.receive(wire.NewReader(bytes.NewReader(frame)), new(renewal)); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestKillInfo(t *testing.T) {
	info := wire.KernelSignal(unix.SIGKILL)
	if len(info) != 128 || info[0] != byte(unix.SIGKILL) || info[8] != 0x80 {
		t.Errorf("got %x", info)
	}
}
