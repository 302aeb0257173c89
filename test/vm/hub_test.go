package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// TestHub checks that a frame of one machine reaches the two others, and not itself.
func TestHub(t *testing.T) {
	path := t.TempDir() + "/net"
	h, err := newHub(path)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	var conns [3]net.Conn
	for i := range conns {
		if conns[i], err = net.Dial("unix", path); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
	}
	for n := 0; n < len(conns); time.Sleep(time.Millisecond) {
		h.mu.Lock()
		n = len(h.ports)
		h.mu.Unlock()
	}
	for i, frame := range [][]byte{[]byte("first"), bytes.Repeat([]byte{7}, 1514)} {
		if _, err := conns[i].Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
			t.Fatal(err)
		}
		for j := range conns {
			if j == i {
				continue
			}
			got := make([]byte, 4+len(frame))
			if _, err := io.ReadFull(conns[j], got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got[4:], frame) {
				t.Errorf("machine %d got %q, want %q", j, got[4:], frame)
			}
		}
	}
}
