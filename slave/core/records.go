package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"bproc/wire"
)

// knownSize is the size of a process in the journal, in bytes.
const knownSize = 16 * 4

// Flags of a process in the journal.
const (
	flagLaunched = 1 << iota
	flagStarting
	flagUnnamed
	flagReaper
	flagZombie
	allFlags = 1<<iota - 1
)

func knownRecord(k Known) Record { return Record{recordKnown, appendKnown(nil, &k)} }

func appendKnown(b []byte, k *Known) []byte {
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
func parseKnown(b []byte) (Known, error) {
	word := func(i int) uint32 { return binary.NativeEndian.Uint32(b[4*i:]) }
	k := Known{
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
		return k, fmt.Errorf("%w: process %+v", ErrJournal, k)
	}
	return k, nil
}

// maxJournaled bounds the arguments of one event that the next daemon can report again, in bytes.
// So the journal has room for all events that are possible before a node is held.
const maxJournaled = 2 << 10

// eventsHead is the size of the part of a record of events before the states, in bytes.
const eventsHead = 16

// eventRecords returns the records for events.
func eventRecords(all []wire.Event, states []Known, position uint64) (records []Record, err error) {
	for len(all) > 0 {
		n := min(len(all), maxEvents)
		payload := binary.NativeEndian.AppendUint64(nil, position)
		payload = binary.NativeEndian.AppendUint64(payload, uint64(n))
		for i := range states[:n] {
			payload = appendKnown(payload, &states[i])
		}
		if payload, err = wire.Append(payload, 0, &wire.Events{Events: withoutLong(all[:n])}); err != nil {
			return records, err
		}
		records = append(records, Record{recordEvents, payload})
		all, states = all[n:], states[n:]
	}
	return records, nil
}

// withoutLong returns the events with command lines beyond maxJournaled cut.
func withoutLong(all []wire.Event) []wire.Event {
	copied := false
	for i := range all {
		size := 0
		for _, arg := range all[i].Argv {
			size += len(arg) + 1
		}
		if size <= maxJournaled {
			continue
		}
		if !copied {
			all, copied = slices.Clone(all), true
		}
		all[i].Argv = []string{all[i].Argv[0][:min(len(all[i].Argv[0]), maxJournaled)]}
	}
	return all
}

func (e *events) replayEvents(payload []byte) error {
	if len(payload) < eventsHead {
		return fmt.Errorf("%w: %d bytes of events", ErrJournal, len(payload))
	}
	position, n := binary.NativeEndian.Uint64(payload), binary.NativeEndian.Uint64(payload[8:])
	if n > maxEvents || uint64(len(payload)) < eventsHead+n*knownSize {
		return fmt.Errorf("%w: %d events in %d bytes", ErrJournal, n, len(payload))
	}
	frame := payload[eventsHead+n*knownSize:]
	m, _, err := wire.NewReader(bytes.NewReader(frame)).Read()
	if err != nil {
		return fmt.Errorf("%w: events: %w", ErrJournal, err)
	}
	events, ok := m.(*wire.Events)
	if !ok || uint64(len(events.Events)) != n {
		return fmt.Errorf("%w: not %d events", ErrJournal, n)
	}
	for b := range slices.Chunk(payload[eventsHead:eventsHead+n*knownSize], knownSize) {
		state, err := parseKnown(b)
		if err != nil {
			return err
		}
		e.states = append(e.states, state)
	}
	e.keep(events.Events, position)
	return nil
}
