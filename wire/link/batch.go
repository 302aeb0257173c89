package link

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// writeBatch is the size of a batch.
const writeBatch = 256 << 10

// batch is the connection below TLS. crypto/tls makes a write for each record of at most 16 KiB;
// batch combines them into few large writes. (A read buffer would cost more, by one more copy, than
// the system calls that it saves.)
type batch struct {
	*net.TCPConn

	mu  sync.Mutex
	out *[]byte // nil: writes are not held back
}

// outs are buffers for batches of writes. An idle connection has none.
var outs = sync.Pool{New: func() any { b := make([]byte, 0, writeBatch); return &b }}

// abort closes the connection and drops the bytes that the kernel has not sent: after the
// connection is called dead, nothing may reach the other side.
func (b *batch) abort() {
	_ = b.SetLinger(0)
	_ = b.Close()
}

// hungUp reports whether the other side has closed its direction: answers to its earlier bytes
// would be in vain.
func (b *batch) hungUp() bool {
	raw, err := b.SyscallConn()
	if err != nil {
		return false
	}
	fds := []unix.PollFd{{Events: unix.POLLRDHUP}}
	_ = raw.Control(func(fd uintptr) {
		fds[0].Fd = int32(fd)
		_, _ = unix.Poll(fds, 0) // does not wait
	})
	return fds[0].Revents != 0
}

// Write implements [net.Conn]. TLS writes from its read side, too (alerts, key
// updates), hence the lock.
func (b *batch) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.out == nil {
		return b.TCPConn.Write(p)
	}
	if len(*b.out)+len(p) > writeBatch {
		if err := b.flushLocked(); err != nil {
			return 0, err
		}
	}
	*b.out = append(*b.out, p...)
	return len(p), nil
}

// hold keeps writes until release.
func (b *batch) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out = outs.Get().(*[]byte)
}

func (b *batch) release() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.flushLocked()
	outs.Put(b.out)
	b.out = nil
	return err
}

func (b *batch) flushLocked() error {
	_, err := b.TCPConn.Write(*b.out)
	*b.out = (*b.out)[:0]
	return err
}
