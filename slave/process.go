package slave

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/link"
)

// process is a process stream: the start of one process and the bytes of its
// standard descriptors.
type process struct {
	n      *node
	stream link.Stream
	pid    wire.PID

	mu sync.Mutex // one frame at a time goes to the stream
}

// serve handles a process stream to its end.
func (p *process) serve(ctx context.Context) error {
	defer p.stream.Close()
	reader := wire.NewReader(p.stream)
	first, _, err := reader.Read()
	if err != nil {
		return fmt.Errorf("first frame of a process stream: %w", err)
	}
	spawn, ok := first.(*wire.Spawn)
	if !ok {
		return fmt.Errorf("%w: type %d opens a process stream", wire.ErrFrame, first.Type())
	}
	p.pid = spawn.PID
	pipes, err := openPipes(spawn)
	if err != nil {
		p.n.recorder.notSpawned(p.pid, wire.StageSpawn, errnoOf(err))
		return err
	}
	defer p.n.outputs.add(p.pid, &output{pipes: pipes, stream: p.stream})()
	if ok, err := p.n.launch(ctx, spawn, pipes); !ok {
		pipes.closeNear()
		return err
	}
	return p.pump(reader, pipes)
}

// pump carries bytes until the process has closed its output and the master the
// stream.
func (p *process) pump(reader *wire.Reader, pipes *pipes) error {
	var output sync.WaitGroup
	for fd, t := range map[int]wire.Type{1: wire.TypeStdout, 2: wire.TypeStderr} {
		if f := pipes.near[fd]; f != nil {
			output.Go(func() { p.output(f, t) })
		}
	}
	gone := make(chan error, 1)
	go func() { // ends with the stream, which serve's caller closes at the latest
		err := p.input(reader, pipes.near[0])
		// The client has left: nobody reads the output any more.
		pipes.closeOutput()
		gone <- err
	}()
	output.Wait()
	err := p.stream.Close()
	return errors.Join(err, <-gone)
}

// output sends what the process writes to one descriptor.
func (p *process) output(f *os.File, t wire.Type) {
	defer f.Close()
	buf := make([]byte, wire.HeaderSize+smallRead)
	for {
		n, err := f.Read(buf[wire.HeaderSize:])
		if n > 0 {
			wire.Header{Type: t, Length: uint32(n), Number: p.n.recorder.stamp()}.Put(buf)
			if p.send(buf[:wire.HeaderSize+n]) != nil {
				return
			}
		}
		if err != nil {
			break
		}
		if n == len(buf)-wire.HeaderSize && n < wire.MaxData {
			buf = make([]byte, wire.HeaderSize+wire.MaxData)
			widen(f)
		}
	}
	end := wire.AppendData(nil, t, p.n.recorder.stamp(), nil)
	_ = p.send(end) // a stream that is gone has no reader to miss it
}

// smallRead is the size of the buffer of a process that writes little.
const smallRead = 1 << 10

func (p *process) send(frame []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.stream.Write(frame)
	return err
}

// input gives the process what the client sends, and drops what the process
// does not take, until the client closes the stream.
func (p *process) input(reader *wire.Reader, f *os.File) error {
	closeInput := func() {
		if f != nil {
			f.Close()
			f = nil
		}
	}
	defer closeInput()
	for {
		h, data, err := reader.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		switch {
		case h.Type != wire.TypeStdin:
			return fmt.Errorf("%w: type %d among the data of a process", wire.ErrFrame, h.Type)
		case len(data) == 0:
			closeInput()
		case f != nil:
			if _, err := f.Write(data); err != nil {
				closeInput()
			}
		}
	}
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EIO
}
