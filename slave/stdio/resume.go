package stdio

import (
	"fmt"
	"os"

	"bproc/slave/journal"
	"bproc/wire"
)

// Resume goes on with the descriptors of a process that a former daemon has started. It
// takes the pipes out of kept. The process lives or has ended; one that is still starting
// gets Run or Fail later.
func (s *Table) Resume(slot *journal.Slot, kept map[string][]*os.File, lives, starting bool) error {
	facts := slot.Facts()
	d := &Descriptors{pid: facts.PID, launch: facts.Launch, uid: facts.UID, pipes: new(pipes), slot: slot, terminal: facts.Terminal}
	d.takePipes(facts, kept)
	if err := s.connect(d); err != nil {
		return fmt.Errorf("descriptors of %d: %w", d.pid, err)
	}
	if facts.Streams[0] && d.in == nil {
		d.in = endedInput(slot.Input)
	}
	if d.ended = !lives; d.ended {
		d.ends()
	}
	s.mu.Lock()
	if s.all == nil {
		s.all = make(map[wire.PID]*Descriptors)
	}
	s.all[d.pid] = d
	s.mu.Unlock()
	if d.in != nil {
		d.in.resume()
	}
	if !starting {
		d.Run()
	}
	if slot.Left() {
		d.leave()
	}
	return nil
}

// takePipes takes the pipes that are still to be used.
func (d *Descriptors) takePipes(facts journal.Facts, kept map[string][]*os.File) {
	if facts.Streams[0] && !d.slot.Input.Ended() && len(kept[d.keptInput()]) == 1 {
		d.pipes.near[0] = kept[d.keptInput()][0]
		delete(kept, d.keptInput())
	}
	output := kept[d.keptOutput()]
	for fd := 1; fd <= 2 && !d.slot.Left(); fd++ {
		if facts.Streams[fd] && len(output) > 0 {
			d.pipes.near[fd], output = output[0], output[1:]
		}
	}
	if !d.slot.Left() {
		delete(kept, d.keptOutput())
	}
}
