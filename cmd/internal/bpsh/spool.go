package bpsh

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// spool keeps the output of a node until the node's turn, and passes it on from then. Up to
// spoolMemory bytes are kept in memory, the rest in an unlinked file. Blocking the node instead
// could be a deadlock: it would no longer read its input, for which the node whose turn it is may
// wait.
//
// The kept output is a sequence of pieces, each after the number of its output and its length.
type spool struct {
	out    [2]io.Writer // standard output and error
	header string       // printed when the turn comes

	mu     sync.Mutex
	open   bool // it is the node's turn
	memory []byte
	file   *os.File
	size   int64 // of the pieces in the file; what is behind them was not written as a whole
}

// spoolMemory is how much of a node's output is kept in memory.
const spoolMemory = 64 << 10

// pieceHeader is the size of the header of each piece.
const pieceHeader = 1 + 4

// spoolStream is the writer of one of the two outputs.
type spoolStream struct {
	spool *spool
	index byte
}

func (s *spool) stream(index byte) io.Writer { return spoolStream{s, index} }

func (w spoolStream) Write(p []byte) (int, error) {
	s := w.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		return s.out[w.index].Write(p)
	}
	s.memory = append(s.memory, w.index)
	s.memory = binary.LittleEndian.AppendUint32(s.memory, uint32(len(p)))
	s.memory = append(s.memory, p...)
	if len(s.memory) < spoolMemory {
		return len(p), nil
	}
	return len(p), s.spill()
}

// spill moves the pieces in memory to the file.
func (s *spool) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "bpsh-")
		if err != nil {
			return fmt.Errorf("keep output: %w", err)
		}
		s.file = f
		if err := os.Remove(f.Name()); err != nil {
			return fmt.Errorf("keep output: %w", err)
		}
	}
	if _, err := s.file.WriteAt(s.memory, s.size); err != nil {
		return fmt.Errorf("keep output: %w", err)
	}
	s.size += int64(len(s.memory))
	s.memory = s.memory[:0]
	return nil
}

// discard forgets the kept output, and passes on new output directly. If that fails, the command is
// ended.
func (s *spool) discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.file.Close()
	}
	s.open, s.memory, s.file = true, nil, nil
}

// release passes on the kept output; new output is passed on directly.
func (s *spool) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	if s.header != "" {
		if _, err := io.WriteString(s.out[0], s.header); err != nil {
			return err
		}
	}
	if s.file != nil {
		defer s.file.Close()
		if err := s.replayFile(bufio.NewReaderSize(io.NewSectionReader(s.file, 0, s.size), spoolMemory)); err != nil {
			return err
		}
	}
	return s.replay(s.memory)
}

func (s *spool) replay(kept []byte) error {
	for len(kept) > 0 {
		end := pieceHeader + int(binary.LittleEndian.Uint32(kept[1:]))
		if _, err := s.out[kept[0]].Write(kept[pieceHeader:end]); err != nil {
			return err
		}
		kept = kept[end:]
	}
	s.memory = nil
	return nil
}

func (s *spool) replayFile(r *bufio.Reader) error {
	for {
		var header [pieceHeader]byte
		_, err := io.ReadFull(r, header[:])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read kept output: %w", err)
		}
		size := int64(binary.LittleEndian.Uint32(header[1:]))
		if _, err := io.CopyN(s.out[header[0]], r, size); err != nil {
			return err
		}
	}
}

// turns releases the output of the nodes, one after the other.
type turns struct {
	spools []*spool
	done   []<-chan struct{}
}

func (t *turns) add(s *spool, done <-chan struct{}) {
	t.spools = append(t.spools, s)
	t.done = append(t.done, done)
}

func (t *turns) run() error {
	for i, s := range t.spools {
		if err := s.release(); err != nil {
			for _, later := range t.spools[i+1:] {
				later.discard()
			}
			return err
		}
		<-t.done[i]
	}
	return nil
}
