package journal

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestKill kills daemons at random moments while they carry bytes of one process both
// ways. The process and its client must see each byte once, in order.
func TestKill(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	k := newKillTest(t, seed)
	go k.write()
	go k.read()
	kills := 0
	done := func() bool { return kills >= 5 && k.got > 0 && k.sentAll.Load() > 0 } // what the test is for, on any machine
	for begun := time.Now(); time.Since(begun) < 3*time.Second || !done(); kills++ {
		k.killed(time.Duration(k.random.IntN(15_000)) * time.Microsecond)
	}
	k.stop.Store(true)
	k.daemon(nil)
	k.kept[len(k.kept)-1].Close() // the process's input has ended, and init drops its pipe
	if err := <-k.ended; err != nil {
		t.Error(err)
	}
	t.Logf("%d kills; %d bytes of output, %d of input", kills, k.got, k.sentAll.Load())
}

// killTest is the process, its client, and the init that keeps what daemons leave.
type killTest struct {
	t       *testing.T
	random  *rand.Rand
	kept    []*os.File // for a daemon, in the order of its descriptors
	out, in int        // the process's ends
	stop    atomic.Bool
	ended   chan error    // the process has read its input to the end
	got     uint64        // bytes that the client has
	sentAll atomic.Uint64 // bytes that the client has ever sent
}

// byteAt is what each byte of both streams is.
func byteAt(offset uint64) byte { return byte(offset*0x9E3779B97F4A7C15>>56) ^ byte(offset) }

// keepIn keeps files in a map, by name.
func keepIn(kept map[string][]*os.File) *Keep {
	return &Keep{func(name string, fds ...int) error {
		for _, fd := range fds {
			own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				return err
			}
			kept[name] = append(kept[name], os.NewFile(uintptr(own), name))
		}
		return nil
	}, func(name string) {
		closeAll(kept[name])
		delete(kept, name)
	}}
}

func newKillTest(t *testing.T, seed uint64) *killTest {
	t.Helper()
	k := &killTest{t: t, random: rand.New(rand.NewPCG(seed, 1)), ended: make(chan error, 1)}
	kept := map[string][]*os.File{}
	j, err := Create(keepIn(kept))
	if err != nil {
		t.Fatal(err)
	}
	s, err := j.Take()
	if err != nil {
		t.Fatal(err)
	}
	s.Use(Facts{PID: 4711, Streams: [3]bool{true, true, false}})
	name := s.name()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	outRead, outWrite := pipe(t)
	inRead, inWrite := pipe(t)
	for _, fd := range []int{outWrite, inRead} {
		if err := unix.SetNonblock(fd, false); err != nil {
			t.Fatal(err)
		}
	}
	k.out, k.in = outWrite, inRead
	k.kept = append(append(kept[Name], kept[name]...), os.NewFile(uintptr(outRead), "out"), os.NewFile(uintptr(inWrite), "in"))
	t.Cleanup(func() {
		for _, f := range k.kept {
			f.Close()
		}
		unix.Close(k.in)
	})
	return k
}

// write is the process's output, until the test stops.
func (k *killTest) write() {
	defer unix.Close(k.out)
	r := rand.New(rand.NewPCG(7, 8))
	for offset := uint64(0); !k.stop.Load(); {
		chunk := make([]byte, 1+r.IntN(20_000))
		for i := range chunk {
			chunk[i] = byteAt(offset + uint64(i))
		}
		n, err := unix.Write(k.out, chunk)
		if err != nil && !errors.Is(err, unix.EINTR) {
			k.ended <- fmt.Errorf("the process writes: %w", err)
			return
		}
		offset += uint64(max(n, 0))
	}
}

// read is the process's input, to its end.
func (k *killTest) read() {
	buf := make([]byte, 100_000)
	for offset := uint64(0); ; {
		n, err := unix.Read(k.in, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			k.ended <- fmt.Errorf("the process reads: %w", err)
			return
		case n == 0:
			if sent := k.sentAll.Load(); offset != sent {
				err = fmt.Errorf("the process has read %d bytes of %d", offset, sent)
			}
			k.ended <- err
			return
		}
		for i, b := range buf[:n] {
			if b != byteAt(offset+uint64(i)) {
				k.ended <- fmt.Errorf("byte %d of the input is another one", offset+uint64(i))
				return
			}
		}
		offset += uint64(n)
	}
}

// killed has a daemon work and kills it after some time: each fourth from its start,
// the others from when they go on with their process, however long that takes.
func (k *killTest) killed(life time.Duration) {
	k.t.Helper()
	early := k.random.IntN(4) == 0
	k.daemon(func(p *os.Process, resumed bool) {
		if resumed != early {
			time.AfterFunc(life, func() { _ = p.Kill() })
		}
	})
}

// daemon has a daemon work; it is said when it starts, and when it goes on with its
// process. nil: it comes to its end.
func (k *killTest) daemon(alive func(p *os.Process, resumed bool)) {
	k.t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		k.t.Fatal(err)
	}
	far, near := os.NewFile(uintptr(fds[0]), "daemon"), os.NewFile(uintptr(fds[1]), "client")
	conn, err := net.FileConn(near)
	near.Close()
	if err != nil {
		k.t.Fatal(err)
	}
	defer conn.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), killedEnv+"=1")
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = append([]*os.File{far}, k.kept...)
	err = cmd.Start()
	far.Close()
	if err != nil {
		k.t.Fatal(err)
	}
	last := alive == nil
	if last {
		alive = func(*os.Process, bool) {}
	}
	alive(cmd.Process, false)
	k.client(conn, last, func() { alive(cmd.Process, true) })
	conn.Close()
	if err := cmd.Wait(); last && err != nil {
		k.t.Errorf("the last daemon: %v", err)
	}
}

// client is that of the process, as long as one daemon lives. It says when it hears of
// it.
func (k *killTest) client(conn net.Conn, last bool, resumed func()) {
	k.t.Helper()
	if err := wire.Write(conn, 0, &wire.Resume{PID: 4711, Output: [2]uint64{k.got}}); err != nil {
		return // killed early
	}
	frames := wire.NewReader(conn)
	m, _, err := frames.Read()
	if err != nil {
		return
	}
	taken := m.(*wire.Resumed).Taken
	resumed()
	// All is written by another goroutine: a daemon may read nothing before it has
	// written what is read here.
	progress, done := make(chan wire.Header, 1<<16), make(chan struct{})
	progress <- wire.Header{Type: wire.TypeStdinTaken, Number: taken}
	go func() {
		defer close(done)
		k.feed(conn, taken, progress, last)
	}()
	defer func() { <-done }()
	defer close(progress)
	for acked, over := k.got, false; ; {
		h, data, err := frames.Next()
		if err != nil {
			if last && !over {
				k.t.Errorf("the last daemon ends: %v", err)
			}
			return
		}
		if h.Type == wire.TypeStdinTaken {
			progress <- h
			continue
		}
		over = len(data) == 0
		for i, b := range data {
			if b != byteAt(k.got+uint64(i)) {
				k.t.Fatalf("byte %d of the output is another one", k.got+uint64(i))
			}
		}
		k.got += uint64(len(data))
		if k.got-acked > 20_000 {
			acked = k.got
			progress <- wire.Header{Type: wire.TypeStdoutTaken, Number: acked}
		}
	}
}

// feed says what was taken, and sends input from an offset on, with no more on its way
// than what may be.
func (k *killTest) feed(conn net.Conn, sent uint64, progress <-chan wire.Header, last bool) {
	r := rand.New(rand.NewPCG(sent, 9))
	input := func(upTo uint64) error {
		data := make([]byte, min(upTo-sent, 1+r.Uint64N(wire.MaxData/4)))
		for i := range data {
			data[i] = byteAt(sent + uint64(i))
		}
		_, err := conn.Write(wire.AppendData(nil, wire.TypeStdin, 0, data))
		sent += uint64(len(data))
		return err
	}
	for h := range progress {
		taken := h.Number
		if h.Type == wire.TypeStdoutTaken {
			if _, err := conn.Write(wire.AppendData(nil, h.Type, h.Number, nil)); err != nil {
				return
			}
			continue
		}
		if last {
			for end := k.sentAll.Load(); sent < end; {
				if err := input(end); err != nil {
					return
				}
			}
			if _, err := conn.Write(wire.AppendData(nil, wire.TypeStdin, 0, nil)); err != nil {
				return
			}
			last = false
			sent = math.MaxUint64 // no more
			continue
		}
		for sent != math.MaxUint64 && sent-taken < wire.MaxData {
			if err := input(math.MaxUint64); err != nil {
				return
			}
			k.sentAll.Store(max(k.sentAll.Load(), sent))
		}
	}
}
