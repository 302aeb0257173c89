package quietsock

import "errors"

// Watched calls do with the descriptor that the runtime's poller watches.
func (c *Conn) Watched(do func(fd uintptr) error) (err error) {
	return errors.Join(c.wait.Control(func(fd uintptr) { err = do(fd) }), err)
}
