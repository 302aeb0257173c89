package main

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
)

// frameMax is greater than any Ethernet frame with offloads.
const frameMax = 1 << 17

// hub is the cluster's network: it sends each frame of a machine to all others. On qemu's stream
// sockets a frame is preceded by its length, four bytes in network order.
type hub struct {
	listener net.Listener
	mu       sync.Mutex
	ports    map[*port]bool
}

// port is a machine's connection to the hub. Frames that it does not read in time are lost, as at a
// switch.
type port struct {
	conn net.Conn
	out  chan []byte
}

func newHub(path string) (*hub, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	h := &hub{listener: listener, ports: map[*port]bool{}}
	go h.accept()
	return h, nil
}

func (h *hub) accept() {
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return // closed
		}
		p := &port{conn: conn, out: make(chan []byte, 256)}
		h.mu.Lock()
		h.ports[p] = true
		h.mu.Unlock()
		go p.write()
		go h.read(p)
	}
}

func (h *hub) read(p *port) {
	defer func() {
		h.mu.Lock()
		delete(h.ports, p)
		h.mu.Unlock()
		close(p.out)
		p.conn.Close()
	}()
	for {
		var length [4]byte
		if _, err := io.ReadFull(p.conn, length[:]); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(length[:])
		if n > frameMax {
			return
		}
		frame := append(make([]byte, 0, 4+n), length[:]...)[:4+n]
		if _, err := io.ReadFull(p.conn, frame[4:]); err != nil {
			return
		}
		h.send(p, frame)
	}
}

func (h *hub) send(from *port, frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.ports {
		if p == from {
			continue
		}
		select {
		case p.out <- frame:
		default:
		}
	}
}

func (p *port) write() {
	for frame := range p.out {
		if _, err := p.conn.Write(frame); err != nil {
			p.conn.Close()
		}
	}
}

func (h *hub) close() {
	h.listener.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.ports {
		p.conn.Close()
	}
}
