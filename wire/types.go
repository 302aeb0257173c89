package wire

import "strconv"

// PID is a process number of the cluster: what the process itself and
// everybody on the front end calls it.
type PID int32

// String returns the number in decimal.
func (p PID) String() string { return strconv.Itoa(int(p)) }

// NodeID is the number of a node.
type NodeID int32

// FrontEnd is the node number of the front end itself.
const FrontEnd NodeID = -1

// String returns the number in decimal.
func (n NodeID) String() string { return strconv.Itoa(int(n)) }

// Block is a run of process numbers that one node has: First, First+1, ...,
// First+Count-1.
type Block struct {
	_msgpack struct{} `msgpack:",as_array"`

	First PID
	Count int32
}

// End returns the first number after the block.
func (b Block) End() PID { return b.First + PID(b.Count) }

// Contains reports whether p is a number of the block.
func (b Block) Contains(p PID) bool { return p >= b.First && p < b.End() }

// Status is the status of an ended or stopped process as wait(2) encodes it.
type Status uint32

// Exited reports whether the process ended by exit, and with which code.
func (s Status) Exited() (code int, ok bool) { return int(s>>8) & 0xff, s&0x7f == 0 }

// Signaled reports whether the process was ended by a signal, and which.
func (s Status) Signaled() (sig int, ok bool) {
	sig = int(s & 0x7f)
	return sig, sig != 0 && sig != 0x7f
}

// ExitCode returns what a shell reports in $?: the exit code, or 128+n for a
// process ended by signal n.
func (s Status) ExitCode() int {
	if sig, ok := s.Signaled(); ok {
		return 128 + sig
	}
	code, _ := s.Exited()
	return code
}

// ExitStatus returns the status of a process that ended by exit(code).
func ExitStatus(code int) Status { return Status(code&0xff) << 8 }

// SignalStatus returns the status of a process ended by signal sig.
func SignalStatus(sig int) Status { return Status(sig & 0x7f) }

// IDs is who a process is, in user or in group numbers (credentials(7)).
type IDs struct {
	_msgpack struct{} `msgpack:",as_array"`

	Real      uint32
	Effective uint32
	Saved     uint32
}
