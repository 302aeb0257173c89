package master

import "bproc/wire"

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

// sayEnded tells a client how its process has ended, unless the client has gone before, or the
// session with the node has ended.
func (c *clientConn) sayEnded(out *outlet, gone, over <-chan struct{}) error {
	select {
	case how := <-c.ended:
		return out.end(&how)
	case <-gone:
	case <-over:
	}
	return nil
}
