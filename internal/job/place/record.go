package place

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"bproc/internal/job/life"
	"bproc/internal/procstat"
	"bproc/wire"
)

// Record is the persistent state of a process.
type Record struct {
	life.Record
	Node       wire.NodeID // of the last run
	Placed     bool        // there was a run, so Node is valid
	Left       bool        // processes may be left on the node
	PID        wire.PID    // of the process; 0: none
	NoPIDFile  bool        // it runs in the foreground
	Supervisor int         // PID of its supervisor, if there is one
	Born       uint64      // start time of the supervisor, see [Born]
	UID        uint32      // the user as whom it runs
	Caller     uint32      // the user who has started it
	Reason     string      // why it was not started, or has failed; "": Exit tells it
	Boot       string      // the boot of the front end in which it got into its state; "": a former version did not say
	Trouble    string      // what failed beside the process since its supervisor was started
}

// Born returns the start time of a process, in clock ticks since boot, or 0 if it does not exist.
func Born(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	at, _ := strconv.ParseUint(string(procstat.Stat(text).Field(procstat.Start)), 10, 64) // written by the kernel
	return at
}

// Read returns the record of the process, or one in state Created if it was never started. A
// process whose supervisor has ended without recording an end has failed.
func (p Process) Read() (Record, error) {
	alive, err := p.Supervised()
	if err != nil {
		return Record{}, err
	}
	return p.read(alive)
}

// Former is Read for the holder of the lock: the record was written by a former supervisor.
func (p Process) Former() (Record, error) { return p.read(false) }

func (p Process) read(alive bool) (Record, error) {
	var r Record
	text, err := os.ReadFile(p.file("json"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Record{Record: life.Record{State: life.Created}}, nil
	case err != nil:
		return r, fmt.Errorf("record of process %v: %w", p, err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{Record: life.Record{State: life.Failed}, Reason: "its record was damaged"}, nil
	}
	if !alive && (r.State.Active() || r.State == life.Waiting) {
		r.State, r.Exit = life.Failed, life.Exit{Signal: 9}
		r.Reason = "its supervisor was killed, or the front end went down"
		r.PID, r.Supervisor, r.Born, r.Left = 0, 0, 0, r.Placed
	}
	return r, nil
}

// Write stores the record of the process. Only its supervisor may call it.
func (p Process) Write(r Record) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = p.replace("json", text, 0)
	}
	if err != nil {
		return fmt.Errorf("record of process %v: %w", p, err)
	}
	if r.PID == 0 || r.NoPIDFile || !r.State.Active() {
		err = os.Remove(p.PIDFile())
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	} else {
		err = p.replace("pid", strconv.AppendInt(nil, int64(r.PID), 10), r.Caller)
	}
	if err != nil {
		return fmt.Errorf("PID file of process %v: %w", p, err)
	}
	return nil
}

// Forget removes the record of a process that was never started.
func (p Process) Forget() error {
	r, err := p.Former()
	if err != nil || r.Run > 0 {
		return err
	}
	return os.Remove(p.file("json"))
}

// replace writes a file atomically. Owner 0 stands for the user of this process.
func (p Process) replace(suffix string, text []byte, owner uint32) error {
	f, err := os.CreateTemp(p.runDir(), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil && owner != 0 {
		err = f.Chown(int(owner), -1)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), p.file(suffix))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
