package fakemaster

import (
	"errors"
	"io"
	"net"
	"testing"

	"bproc/wire"
)

// Conn is the connection of a client.
type Conn struct {
	m       *Master
	t       testing.TB
	conn    *net.UnixConn
	r       *wire.Reader
	request wire.Message
}

// Send sends a message.
func (c *Conn) Send(m wire.Message) {
	if err := wire.Write(c.conn, 0, m); err != nil {
		c.t.Errorf("send %T: %v", m, err)
	}
}

// Next returns what the client says next.
func (c *Conn) Next() (wire.Message, error) {
	m, _, err := c.r.Read()
	return m, err
}

// Fail answers that the request failed, and ends the ghost as a master does that
// has adopted it.
func (c *Conn) Fail(stage wire.Stage, errno uint32, text string, code int) {
	if _, ok := c.request.(*wire.Run); ok && stage >= wire.StageSpawn {
		defer c.EndProcess(wire.ExitStatus(code))
	}
	c.Send(&wire.Failed{Stage: stage, Errno: errno, Text: text})
}

// Started answers that the process runs.
func (c *Conn) Started() { c.Send(new(wire.Started)) }

// Output sends what a process says: one frame, its end when it is empty.
func (c *Conn) Output(t wire.Type, data string) error {
	_, err := c.conn.Write(wire.AppendData(nil, t, 0, []byte(data)))
	return err
}

// Input returns the next piece of standard input, io.EOF at its end and
// io.ErrUnexpectedEOF when the client has gone without one.
func (c *Conn) Input() ([]byte, error) {
	h, payload, err := c.r.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	case h.Length == 0:
		return nil, io.EOF
	}
	return payload, nil
}

// End ends the outputs that are streams, and then the process.
func (c *Conn) End(status wire.Status) {
	c.EndOutputs()
	c.EndProcess(status)
}

// EndOutputs ends the outputs that are streams.
func (c *Conn) EndOutputs() {
	stdio := c.request.(*wire.Run).Command.Stdio
	for i, t := range []wire.Type{wire.TypeStdout, wire.TypeStderr} {
		if stdio[1+i].Mode == wire.DescriptorStream {
			_ = c.Output(t, "")
		}
	}
}

// EndProcess ends the ghost.
func (c *Conn) EndProcess(status wire.Status) { c.m.End(c.request.(*wire.Run).Ghost, status) }

// Gone waits until the client has closed the connection.
func (c *Conn) Gone() {
	for {
		if _, _, err := c.r.Next(); err != nil {
			return
		}
	}
}
