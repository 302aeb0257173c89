package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"bproc/pidmap"
	"bproc/wire"
)

// Record is a record of the journal.
type Record struct {
	Kind    uint32
	Payload []byte
}

// Kinds of records.
const (
	recordKnown   = 1 // processes
	recordBlocks  = 2 // all blocks of the node
	recordEvents  = 3 // position and number of events, the states after them, a frame of Events
	recordUnasked = 4 // the number of a process that is not started after all
	recordParent  = 5 // a launched process: its number, its parent on the front end, its birth
)

// ErrJournal is the error for a journal that no daemon has written.
var ErrJournal = errors.New("a record that makes no sense")

// notAll is logged when an event cannot be entered in the journal.
const notAll = "should this daemon die, the next cannot tell the front end all that happened"

// append appends records to the journal.
func (c *Core) append(all ...Record) { c.emit(Append{all}) }

func (c *Core) appendEvents(all []wire.Event, states []Known, position uint64) {
	records, err := eventRecords(all, states, position)
	if err != nil {
		c.log.Error(notAll, "err", err)
	}
	c.append(records...)
}

// rewrite writes the journal anew.
func (c *Core) rewrite() {
	e := &c.events
	payload := make([]byte, 0, len(e.known)*knownSize)
	for _, pid := range slices.Sorted(maps.Keys(e.known)) {
		k := e.known[pid]
		payload = appendKnown(payload, &k)
	}
	told, err := eventRecords(e.told, e.states, e.position)
	if err != nil {
		c.log.Error(notAll, "err", err)
		return
	}
	c.emit(Rewrite{append([]Record{{recordKnown, payload}, blocksRecord(e.blocks)}, told...)})
}

// haveBlocks enters the node's blocks.
func (c *Core) haveBlocks(blocks []wire.Block) {
	c.events.blocks = slices.Clone(blocks)
	c.append(blocksRecord(blocks))
}

// replay takes in the journal of a former daemon. Confirmed events take effect in their place among
// the other records.
func (c *Core) replay(all []Record, confirmed uint64) error {
	e := &c.events
	var ended []wire.PID
	for _, r := range all {
		if err := e.replay(r); err != nil {
			return fmt.Errorf("what the front end was told: %w", err)
		}
		if n := min(confirmed-e.confirmed, uint64(len(e.told))); n > 0 {
			ended = append(ended, e.confirm(n)...)
		}
	}
	if e.confirmed != confirmed {
		return fmt.Errorf("what the front end was told: %w: %d events of %d are confirmed", ErrJournal, confirmed, e.confirmed)
	}
	e.first = 1
	now := e.now()
	c.resumeLaunched(now)
	ended = slices.DeleteFunc(ended, func(pid wire.PID) bool { _, is := now[pid]; return is })
	if len(ended) > 0 {
		c.emit(Forget{ended})
	}
	return nil
}

// replay takes in a record.
func (e *events) replay(r Record) error {
	switch r.Kind {
	case recordKnown:
		return e.replayKnown(r.Payload)
	case recordBlocks:
		return e.replayBlocks(r.Payload)
	case recordEvents:
		return e.replayEvents(r.Payload)
	case recordUnasked:
		return e.replayUnasked(r.Payload)
	case recordParent:
		return e.replayParent(r.Payload)
	default:
		return fmt.Errorf("%w: record of kind %d", ErrJournal, r.Kind)
	}
}

func (e *events) replayKnown(payload []byte) error {
	if len(payload)%knownSize != 0 {
		return fmt.Errorf("%w: %d bytes of processes", ErrJournal, len(payload))
	}
	for b := range slices.Chunk(payload, knownSize) {
		k, err := parseKnown(b)
		if err != nil {
			return err
		}
		e.known[k.PID] = k
	}
	return nil
}

func unaskedRecord(pid wire.PID) Record {
	return Record{recordUnasked, binary.NativeEndian.AppendUint32(nil, uint32(pid))}
}

func (e *events) replayUnasked(payload []byte) error {
	if len(payload) != 4 {
		return fmt.Errorf("%w: %d bytes of a number", ErrJournal, len(payload))
	}
	delete(e.known, wire.PID(binary.NativeEndian.Uint32(payload)))
	return nil
}

func parentRecord(k Known) Record {
	b := binary.NativeEndian.AppendUint32(nil, uint32(k.PID))
	b = binary.NativeEndian.AppendUint32(b, uint32(k.Parent))
	return Record{recordParent, binary.NativeEndian.AppendUint64(b, k.Birth)}
}

// replayParent gives a process another parent. Events from before may be confirmed by now, though
// they were not when the record was made.
func (e *events) replayParent(payload []byte) error {
	if len(payload) != 16 {
		return fmt.Errorf("%w: %d bytes of a parent", ErrJournal, len(payload))
	}
	pid, parent := wire.PID(binary.NativeEndian.Uint32(payload)), wire.PID(binary.NativeEndian.Uint32(payload[4:]))
	if parent < 0 {
		return fmt.Errorf("%w: parent %d", ErrJournal, parent)
	}
	if k, is := e.known[pid]; is && k.Birth == binary.NativeEndian.Uint64(payload[8:]) {
		k.Parent = parent
		e.known[pid] = k
	}
	return nil
}

func blocksRecord(blocks []wire.Block) Record {
	var b []byte
	for _, block := range blocks {
		b = binary.NativeEndian.AppendUint32(b, uint32(block.First))
		b = binary.NativeEndian.AppendUint32(b, uint32(block.Count))
	}
	return Record{recordBlocks, b}
}

func (e *events) replayBlocks(payload []byte) error {
	if len(payload)%8 != 0 {
		return fmt.Errorf("%w: %d bytes of blocks", ErrJournal, len(payload))
	}
	e.blocks = nil
	for b := range slices.Chunk(payload, 8) {
		e.blocks = append(e.blocks, wire.Block{
			First: wire.PID(binary.NativeEndian.Uint32(b)), Count: int32(binary.NativeEndian.Uint32(b[4:])),
		})
	}
	if err := pidmap.Validate(e.blocks); err != nil {
		return fmt.Errorf("%w: %w", ErrJournal, err)
	}
	return nil
}
