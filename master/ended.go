package master

import (
	"time"

	"bproc/wire"
)

// wantsEnded says whether a client wants to be told how its process has ended.
func (c *clientConn) wantsEnded(wants bool) {
	if wants {
		c.ended = make(chan wire.Ended, 1)
	}
}

// tellEnded gives the client's goroutine the core's report. It does not block.
func (c *clientConn) tellEnded(how wire.Ended) {
	select {
	case c.ended <- how:
	default: // the client does not want to know, or knows it
	}
}

// lateTime is how long the end of output waits for the end of the process.
const lateTime = 20 * time.Millisecond

// sayEnded tells a client how its process has ended, unless the client has gone before, or the
// session with the node has ended. Ends of output that wait for it are written after lateTime.
func (c *clientConn) sayEnded(out *outlet, gone, over <-chan struct{}) error {
	var late <-chan time.Time
	for {
		select {
		case how := <-c.ended:
			return out.end(&how)
		case <-out.waits:
			if late == nil {
				late = time.After(lateTime)
			}
		case <-late:
			late = nil
			if err := out.writeLate(); err != nil {
				return err
			}
		case <-gone:
			return nil
		case <-over:
			return out.endAlone()
		}
	}
}
