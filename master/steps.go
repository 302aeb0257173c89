package master

import "bproc/wire"

// step tells a client's goroutine how far its process is.
type step struct {
	sess      *slaveConn // the ghost is adopted: open the process stream in this session, even if there was one in another
	pid       wire.PID   // for Spawn, as the next two
	taskGroup uint64
	tasks     uint64
	asked     uint64       // clientConn.asked
	resume    *slaveConn   // it was started before: go on with it in this session
	failed    *wire.Failed // it will not run

	// The client has asked again: its former connection gives its process stream to the next one. A
	// step without any of these fields says that the process runs.
	give, take chan handover
}

// handover is a process stream that passes from one connection of a client to the next.
type handover struct {
	stream stream // nil: there is none
	on     *slaveConn
}

// maxSteps bounds the steps of a launch that wait for its goroutine: a failure or a start, and the
// end of its stream here and the beginning of one there.
const maxSteps = 8

// tell gives the client's goroutine a step. It does not block.
func (c *clientConn) tell(what step) {
	select {
	case c.steps <- what:
	default:
		c.log.Error("a client's connection is closed: it has more to do than can be", "pid", c.who.PID)
		c.conn.Close()
	}
}

// forgetSteps drops the steps that were not taken yet.
func (c *clientConn) forgetSteps() {
	for {
		select {
		case <-c.steps:
		default:
			return
		}
	}
}

// launch is a process that a client asks for.
type launch struct {
	spawn  wire.Spawn
	node   wire.NodeID
	hangUp bool
	nested bool // by a process of a node
	kin    *kin // of one request; nil: it is alone
}
