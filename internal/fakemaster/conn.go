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
	run     *wire.Run // the request that started the process; nil: another request

	writing sync.Mutex // held while a frame is written
	cut     bool       // a frame is incomplete, so nothing may follow
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

// Next returns the client's next message.
func (c *Conn) Next() (wire.Message, error) {
	m, _, err := c.r.Read()
	return m, err
}

// Fail answers that the request failed, and ends the ghost like a master that has adopted it.
func (c *Conn) Fail(stage wire.Stage, errno uint32, text string, code int) {
	if c.request == c.run && stage >= wire.StageSpawn {
		defer c.EndProcess(wire.ExitStatus(code))
	}
	c.Send(&wire.Failed{Stage: stage, Errno: errno, Text: text})
}

// Started answers that the process has started.
func (c *Conn) Started() { c.Send(new(wire.Started)) }

// Resumed answers Attach, with the number of bytes of standard input received so far.
func (c *Conn) Resumed(taken uint64) {
	c.input, c.told = taken, taken
	c.Send(&wire.Started{Taken: taken})
}

// Close closes the connection, as at the end of the master.
func (c *Conn) Close() { c.conn.Close() }

// Output sends one frame of a process's output; an empty one ends the output.
func (c *Conn) Output(t wire.Type, data string) error {
	return c.write(wire.AppendData(nil, t, 0, []byte(data)))
}

// write writes a whole frame, unless an earlier one is incomplete.
func (c *Conn) write(frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.cut {
		return net.ErrClosed
	}
	_, err := c.conn.Write(frame)
	return err
}

// tellEvery is the number of input bytes between acknowledgements.
const tellEvery = 32 << 10

// Part sends the beginning of a frame, like a master that dies. Nothing may follow.
func (c *Conn) Part(t wire.Type, data string, n int) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.cut = true
	_, _ = c.conn.Write(wire.AppendData(nil, t, 0, []byte(data))[:n])
}

// Input returns the next piece of standard input and acknowledges it from time to time. It returns
// io.EOF at the end of the input, and io.ErrUnexpectedEOF if the client has gone before.
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

// Frame reads a frame without acknowledging it, and returns the number of its input bytes. That is
// 0 for an acknowledgement by the client.
func (c *Conn) Frame() (int, error) {
	h, payload, err := c.r.Next()
	if err == nil && h.Type != wire.TypeStdin {
		c.Taken[h.Type-wire.TypeStdoutTaken] = h.Number
	}
	return len(payload), err
}

// CloseInput reports that the process has closed its standard input.
func (c *Conn) CloseInput() { c.take(math.MaxUint64) }

// take acknowledges input, without waiting for a client that does not read. Errors do not matter:
// the client may have gone.
func (c *Conn) take(n uint64) {
	c.told = n
	c.telling.Go(func() { _ = c.write(wire.AppendData(nil, wire.TypeStdinTaken, n, nil)) })
}

// End ends the outputs that are streams and then the process, and waits until the client has gone.
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

// Used is the resource usage of all processes.
var Used = wire.Usage{User: 1_500_000, System: 250_000, MaxRSS: 4096}

// EndProcess ends the ghost, and reports that if the client has asked for it.
func (c *Conn) EndProcess(status wire.Status) {
	if c.run.Report {
		if frame, err := wire.Append(nil, 0, &wire.Ended{Status: status, Usage: &Used}); err != nil {
			c.t.Error(err)
		} else {
			_ = c.write(frame) // the client may have gone
		}
	}
	c.EndGhost(status)
}

// EndGhost ends the ghost.
func (c *Conn) EndGhost(status wire.Status) { c.m.End(c.run.Ghost, status) }

// Gone waits until the client has closed the connection.
func (c *Conn) Gone() {
	for {
		if _, _, err := c.r.Next(); err != nil {
			return
		}
	}
}
