package slave

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"bproc/pidmap"
	"bproc/slave/journal"
	"bproc/slave/procevents"
	"bproc/wire"
)

// Records of the ledger's log.
const (
	recordKnown   = 1 // processes
	recordBlocks  = 2 // all numbers on lease
	recordEvents  = 3 // position and number of events, the states after them, a frame of Events
	recordUnasked = 4 // the number of a process that is not to be
)

type appender = func(kind uint32, payload ...[]byte) error

// knownSize is the size of a process in the log, in bytes.
const knownSize = 16 * 4

// Flags of a process in the log.
const (
	flagLaunched = 1 << iota
	flagStarting
	flagUnnamed
	flagReaper
	flagZombie
	allFlags = 1<<iota - 1
)

func appendKnown(b []byte, k *procevents.Known) []byte {
	for _, n := range []uint32{
		uint32(k.PID), uint32(k.Parent), uint32(k.PGID), uint32(k.SID),
		k.User.Real, k.User.Effective, k.User.Saved, k.Group.Real, k.Group.Effective, k.Group.Saved,
		uint32(k.Status), uint32(k.Stop), uint32(k.Began),
	} {
		b = binary.NativeEndian.AppendUint32(b, n)
	}
	flags := uint32(0)
	for i, is := range []bool{k.Launched, k.Starting, k.Unnamed, k.Reaper, k.Zombie} {
		if is {
			flags |= 1 << i
		}
	}
	b = binary.NativeEndian.AppendUint32(b, flags)
	return binary.NativeEndian.AppendUint64(b, k.Birth)
}

// parseKnown reads a process from the first knownSize bytes of b.
func parseKnown(b []byte) (procevents.Known, error) {
	word := func(i int) uint32 { return binary.NativeEndian.Uint32(b[4*i:]) }
	k := procevents.Known{
		PID: wire.PID(word(0)), Parent: wire.PID(word(1)), PGID: wire.PID(word(2)), SID: wire.PID(word(3)),
		User:   wire.IDs{Real: word(4), Effective: word(5), Saved: word(6)},
		Group:  wire.IDs{Real: word(7), Effective: word(8), Saved: word(9)},
		Birth:  binary.NativeEndian.Uint64(b[14*4:]),
		Status: wire.Status(word(10)), Stop: uint8(word(11)), Began: wire.PID(word(12)),
	}
	flags := word(13)
	k.Launched, k.Starting, k.Unnamed = flags&flagLaunched != 0, flags&flagStarting != 0, flags&flagUnnamed != 0
	k.Reaper, k.Zombie = flags&flagReaper != 0, flags&flagZombie != 0
	if k.PID <= 1 || k.Parent < 0 || k.PGID < 0 || k.SID < 0 || k.Began < 0 || word(11) > 255 || flags > allFlags {
		return k, fmt.Errorf("%w: process %+v", journal.ErrCorrupt, k)
	}
	return k, nil
}

func appendBlocks(b []byte, blocks []wire.Block) []byte {
	for _, block := range blocks {
		b = binary.NativeEndian.AppendUint32(b, uint32(block.First))
		b = binary.NativeEndian.AppendUint32(b, uint32(block.Count))
	}
	return b
}

// maxLogged bounds the arguments of one event that the next daemon could tell again, in
// bytes: so all events for which a node is not held have room in the log.
const maxLogged = 2 << 10

// logEvents appends events.
func logEvents(add appender, events []wire.Event, states []procevents.Known, position uint64) error {
	for len(events) > 0 {
		n := min(len(events), maxEvents)
		head := binary.NativeEndian.AppendUint64(nil, position)
		head = binary.NativeEndian.AppendUint64(head, uint64(n))
		for i := range states[:n] {
			head = appendKnown(head, &states[i])
		}
		frame, err := wire.Append(nil, 0, &wire.Events{Events: withoutLong(events[:n])})
		if err == nil {
			err = add(recordEvents, head, frame)
		}
		if err != nil {
			return err
		}
		events, states = events[n:], states[n:]
	}
	return nil
}

// withoutLong returns events without such arguments as are too long.
func withoutLong(events []wire.Event) []wire.Event {
	copied := false
	for i := range events {
		size := 0
		for _, arg := range events[i].Argv {
			size += len(arg) + 1
		}
		if size <= maxLogged {
			continue
		}
		if !copied {
			events, copied = slices.Clone(events), true
		}
		events[i].Argv = []string{events[i].Argv[0][:min(len(events[i].Argv[0]), maxLogged)]}
	}
	return events
}

// replay takes in a record.
func (l *ledger) replay(kind uint32, payload []byte) error {
	switch kind {
	case recordKnown:
		return l.replayKnown(payload)
	case recordBlocks:
		return l.replayBlocks(payload)
	case recordEvents:
		return l.replayEvents(payload)
	case recordUnasked:
		return l.replayUnasked(payload)
	default:
		return fmt.Errorf("%w: record of kind %d", journal.ErrCorrupt, kind)
	}
}

func (l *ledger) replayKnown(payload []byte) error {
	if len(payload)%knownSize != 0 {
		return fmt.Errorf("%w: %d bytes of processes", journal.ErrCorrupt, len(payload))
	}
	for b := range slices.Chunk(payload, knownSize) {
		k, err := parseKnown(b)
		if err != nil {
			return err
		}
		l.known[k.PID] = k
	}
	return nil
}

func (l *ledger) replayUnasked(payload []byte) error {
	if len(payload) != 4 {
		return fmt.Errorf("%w: %d bytes of a number", journal.ErrCorrupt, len(payload))
	}
	delete(l.known, wire.PID(binary.NativeEndian.Uint32(payload)))
	return nil
}

func (l *ledger) replayBlocks(payload []byte) error {
	if len(payload)%8 != 0 {
		return fmt.Errorf("%w: %d bytes of blocks", journal.ErrCorrupt, len(payload))
	}
	l.blocks = nil
	for b := range slices.Chunk(payload, 8) {
		l.blocks = append(l.blocks, wire.Block{
			First: wire.PID(binary.NativeEndian.Uint32(b)), Count: int32(binary.NativeEndian.Uint32(b[4:])),
		})
	}
	if err := pidmap.Validate(l.blocks); err != nil {
		return fmt.Errorf("%w: %w", journal.ErrCorrupt, err)
	}
	return nil
}

func (l *ledger) replayEvents(payload []byte) error {
	const head = 16
	if len(payload) < head {
		return fmt.Errorf("%w: %d bytes of events", journal.ErrCorrupt, len(payload))
	}
	position, n := binary.NativeEndian.Uint64(payload), binary.NativeEndian.Uint64(payload[8:])
	if n > maxEvents || uint64(len(payload)) < head+n*knownSize {
		return fmt.Errorf("%w: %d events in %d bytes", journal.ErrCorrupt, n, len(payload))
	}
	m, _, err := wire.NewReader(bytes.NewReader(payload[head+n*knownSize:])).Read()
	if err != nil {
		return fmt.Errorf("%w: events: %w", journal.ErrCorrupt, err)
	}
	events, ok := m.(*wire.Events)
	if !ok || uint64(len(events.Events)) != n {
		return fmt.Errorf("%w: not %d events", journal.ErrCorrupt, n)
	}
	for b := range slices.Chunk(payload[head:head+n*knownSize], knownSize) {
		state, err := parseKnown(b)
		if err != nil {
			return err
		}
		l.states = append(l.states, state)
	}
	l.told, l.position = append(l.told, events.Events...), position
	return nil
}
