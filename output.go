package bproc

import (
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// outputBuffer is how much is read from the master at once.
const outputBuffer = 128 << 10

var outputBuffers = sync.Pool{New: func() any { return new([outputBuffer]byte) }}

// output takes the frames of standard output and error off a connection. Bytes
// go on as they come in, whole frames or not, so nothing is kept between two
// reads and a process that is silent needs no buffer.
type output struct {
	conn    *os.File
	writers [2]io.Writer // of Stdout and Stderr; nil: no frames are due
	open    int          // how many writers there are
	to      io.Writer    // who gets the payload of the current frame
	left    int          // bytes of it still to come
	header  [wire.HeaderSize]byte
	have    int // bytes of the next header
}

func newOutput(conn *os.File, c *Cmd, stdio [3]wire.Descriptor) *output {
	o := &output{conn: conn}
	for i, w := range []io.Writer{c.Stdout, c.Stderr} {
		if stdio[1+i].Mode == wire.DescriptorStream {
			o.writers[i] = w
			o.open++
		}
	}
	return o
}

// copy copies until both outputs have come to their end. After an error nobody
// reads the connection, so it is closed.
func (o *output) copy() error {
	err := o.receiveAll()
	if err != nil {
		_ = o.conn.Close()
	}
	return err
}

func (o *output) receiveAll() error {
	raw, err := o.conn.SyscallConn()
	if err != nil {
		return err
	}
	for o.open > 0 {
		buf, n, err := receive(raw)
		if err != nil {
			return broken(err)
		}
		if n == 0 {
			outputBuffers.Put(buf)
			return ErrLost
		}
		err = o.consume(buf[:n])
		outputBuffers.Put(buf)
		if err != nil {
			return err
		}
	}
	return nil
}

// receive waits until there is something to read and only then takes a buffer
// for it.
func receive(raw syscall.RawConn) (buf *[outputBuffer]byte, n int, err error) {
	waitErr := raw.Read(func(fd uintptr) bool {
		buf = outputBuffers.Get().(*[outputBuffer]byte)
		for {
			n, err = unix.Read(int(fd), buf[:])
			switch err {
			case unix.EINTR:
			case unix.EAGAIN:
				outputBuffers.Put(buf)
				return false
			default:
				return true
			}
		}
	})
	if waitErr != nil {
		return nil, 0, waitErr
	}
	return buf, n, err
}

// consume takes the next bytes of the connection. Nothing is due after the end
// of both outputs.
func (o *output) consume(b []byte) error {
	for len(b) > 0 && o.open > 0 {
		if o.left == 0 {
			n := copy(o.header[o.have:], b)
			b = b[n:]
			if o.have += n; o.have < len(o.header) {
				return nil
			}
			o.have = 0
			if err := o.frame(); err != nil {
				return err
			}
			continue
		}
		n := min(o.left, len(b))
		if _, err := o.to.Write(b[:n]); err != nil {
			return err
		}
		o.left -= n
		b = b[n:]
	}
	return nil
}

// frame begins the frame whose header is complete.
func (o *output) frame() error {
	h, err := wire.ParseHeader(o.header[:])
	if err != nil {
		return err
	}
	i := int(h.Type) - int(wire.TypeStdout)
	if h.Type != wire.TypeStdout && h.Type != wire.TypeStderr || o.writers[i] == nil {
		return fmt.Errorf("%w: unexpected type %d", wire.ErrFrame, h.Type)
	}
	o.to, o.left = o.writers[i], int(h.Length)
	if h.Length == 0 {
		o.writers[i] = nil
		o.open--
	}
	return nil
}
