package fakemaster

import (
	"errors"
	"io"
	"math"
	"net"
	"sync"
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
	run     *wire.Run // by which the process was started; nil: another request

	writing sync.Mutex // one frame at a time
	cut     bool       // a frame was not completed, so nothing may follow
	telling sync.WaitGroup

	input uint64    // bytes of standard input so far
	told  uint64    // of them the client has been told
	Taken [2]uint64 // bytes of the outputs that the client has taken
	Size  wire.Size // that the client wants its terminal to have, as Input has found
	Took  func()    // called by Input when Taken has changed; nil: nobody wants to know
}

// Send sends a message.
func (c *Conn) Send(m wire.Message) {
	c.writing.Lock()
	defer c.writing.Unlock()
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
	if c.request == c.run && stage >= wire.StageSpawn {
		defer c.EndProcess(wire.ExitStatus(code))
	}
	c.Send(&wire.Failed{Stage: stage, Errno: errno, Text: text})
}

// Started answers that the process runs.
func (c *Conn) Started() { c.Send(new(wire.Started)) }

// Resumed answers Attach: so many bytes of standard input have been taken.
func (c *Conn) Resumed(taken uint64) {
	c.input, c.told = taken, taken
	c.Send(&wire.Started{Taken: taken})
}

// Close closes the connection, as the end of the master does.
func (c *Conn) Close() { c.conn.Close() }

// Output sends what a process says: one frame, its end when it is empty.
func (c *Conn) Output(t wire.Type, data string) error {
	return c.write(wire.AppendData(nil, t, 0, []byte(data)))
}

// write writes a frame as a whole, unless the last was not completed.
func (c *Conn) write(frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.cut {
		return net.ErrClosed
	}
	_, err := c.conn.Write(frame)
	return err
}

// tellEvery is how many bytes of input are taken until the client is told.
const tellEvery = 32 << 10

// Part sends the beginning of a frame, as a master does that dies. Nothing comes after
// it.
func (c *Conn) Part(t wire.Type, data string, n int) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.cut = true
	_, _ = c.conn.Write(wire.AppendData(nil, t, 0, []byte(data))[:n])
}

// Input returns the next piece of standard input, io.EOF at its end and
// io.ErrUnexpectedEOF when the client has gone without one. The client is told
// that it was taken.
func (c *Conn) Input() ([]byte, error) {
	for {
		h, payload, err := c.r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case h.Type == wire.TypeStdoutTaken || h.Type == wire.TypeStderrTaken:
			c.Taken[h.Type-wire.TypeStdoutTaken] = h.Number
			if c.Took != nil {
				c.Took()
			}
			continue
		case h.Type == wire.TypeResize:
			c.Size = wire.Size(h.Number)
			continue
		case h.Length == 0:
			c.take(math.MaxUint64)
			return nil, io.EOF
		}
		if c.input += uint64(len(payload)); c.input-c.told >= tellEvery {
			c.take(c.input)
		}
		return payload, nil
	}
}

// Frame reads a frame of input without saying that it was taken, and returns how
// many bytes it has; one that says what the client has taken has none.
func (c *Conn) Frame() (int, error) {
	h, payload, err := c.r.Next()
	if err == nil && h.Type != wire.TypeStdin {
		c.Taken[h.Type-wire.TypeStdoutTaken] = h.Number
	}
	return len(payload), err
}

// CloseInput says that the process has closed its standard input.
func (c *Conn) CloseInput() { c.take(math.MaxUint64) }

// take says how much input has been taken, without waiting for a client that does not
// read. One that has gone will not miss it.
func (c *Conn) take(n uint64) {
	c.told = n
	c.telling.Go(func() { _ = c.write(wire.AppendData(nil, wire.TypeStdinTaken, n, nil)) })
}

// End ends the outputs that are streams, and then the process, and waits until the
// client has gone.
func (c *Conn) End(status wire.Status) {
	c.EndOutputs()
	c.EndProcess(status)
	c.Gone()
}

// EndOutputs ends the outputs that are streams.
func (c *Conn) EndOutputs() {
	stdio := c.run.Command.Stdio
	for i, t := range []wire.Type{wire.TypeStdout, wire.TypeStderr} {
		if stdio[1+i].Mode == wire.DescriptorStream {
			_ = c.Output(t, "")
		}
	}
}

// Used is what processes have used.
var Used = wire.Usage{User: 1_500_000, System: 250_000, MaxRSS: 4096}

// EndProcess ends the ghost, and says so if the client wants to know.
func (c *Conn) EndProcess(status wire.Status) {
	if c.run.Report {
		c.Send(&wire.Ended{Status: status, Usage: &Used})
	}
	c.m.End(c.run.Ghost, status)
}

// Gone waits until the client has closed the connection.
func (c *Conn) Gone() {
	for {
		if _, _, err := c.r.Next(); err != nil {
			return
		}
	}
}
