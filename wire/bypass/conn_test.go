package bypass_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/bypass"
)

// sockets returns the two ends of a connection.
func sockets(tb testing.TB) [2]*os.File {
	tb.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	var ends [2]*os.File
	for i, fd := range fds {
		ends[i] = os.NewFile(uintptr(fd), "end")
		tb.Cleanup(func() { ends[i].Close() })
		if err := ends[i].SetDeadline(time.Now().Add(time.Minute)); err != nil {
			tb.Fatal(err)
		}
	}
	return ends
}

func keys() (there, back []byte) {
	return bytes.Repeat([]byte{1}, wire.BypassKey), bytes.Repeat([]byte{2}, wire.BypassKey)
}

func pair(tb testing.TB, ends [2]*os.File) (a, b *bypass.Conn) {
	tb.Helper()
	there, back := keys()
	a, err := bypass.New(ends[0], back, there)
	if err != nil {
		tb.Fatal(err)
	}
	b, err = bypass.New(ends[1], there, back)
	if err != nil {
		tb.Fatal(err)
	}
	return a, b
}

// TestBytes sends records of all sizes both ways, which are read with room for them and without.
func TestBytes(t *testing.T) {
	a, b := pair(t, sockets(t))
	random := rand.New(rand.NewPCG(1, 2))
	var said []byte
	var records [][]byte
	for _, n := range []int{0, 1, wire.HeaderSize, 4096, bypass.MaxRecord - 1, bypass.MaxRecord} {
		for range 5 {
			record := make([]byte, n)
			for i := range record {
				record[i] = byte(random.Uint32())
			}
			records = append(records, record)
			said = append(said, record...)
		}
	}
	for _, to := range []struct {
		name        string
		write, read *bypass.Conn
		room        int
	}{{"with room", a, b, bypass.MaxRecord}, {"with little", b, a, 1000}, {"with more", a, b, 1 << 20}} {
		t.Run(to.name, func(t *testing.T) {
			wrote := make(chan error, 1)
			go func() {
				for i, r := range records {
					n := 0
					if i%2 == 0 && len(r) > 0 {
						n = random.IntN(len(r))
					}
					if err := to.write.WriteParts(r[:n], r[n:]); err != nil {
						wrote <- err
						return
					}
				}
				_, err := to.write.Write([]byte("end"))
				wrote <- err
			}()
			var got []byte
			buf := make([]byte, to.room)
			for len(got) < len(said)+3 {
				n, err := to.read.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, buf[:n]...)
			}
			if err := <-wrote; err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, append(slices.Clone(said), "end"...)) {
				t.Errorf("%d other bytes came than the %d that were written", len(got), len(said)+3)
			}
		})
	}
}

// TestForged changes what is on its way.
func TestForged(t *testing.T) {
	const length, records = 4 + 5 + 16, 3
	record := func(all []byte, i int) []byte { return all[i*length : (i+1)*length] }
	for _, tc := range []struct {
		name   string
		change func(all []byte) []byte
		good   int // records before the error
		want   error
	}{
		{"nothing", func(all []byte) []byte { return all }, 3, io.EOF},
		{"a bit", func(all []byte) []byte { all[length+7] ^= 4; return all }, 1, bypass.ErrForged},
		{"a record is missing", func(all []byte) []byte { return append(slices.Clone(record(all, 0)), record(all, 2)...) }, 1, bypass.ErrForged},
		{"a record twice", func(all []byte) []byte { return append(slices.Clone(record(all, 0)), record(all, 0)...) }, 1, bypass.ErrForged},
		{"the end of a record is missing", func(all []byte) []byte { return all[:2*length+9] }, 2, io.ErrUnexpectedEOF},
		{"too short", func([]byte) []byte { return []byte{15, 0, 0, 0, 1, 2} }, 0, wire.ErrFrame},
		{"too long", func([]byte) []byte { return []byte{255, 255, 255, 255} }, 0, wire.ErrFrame},
		{"another direction", func([]byte) []byte {
			ends := sockets(t)
			_, b := pair(t, ends)
			if _, err := b.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			var all [length]byte
			_, _ = io.ReadFull(ends[0], all[:])
			return all[:]
		}, 0, bypass.ErrForged},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ends := sockets(t)
			a, _ := pair(t, ends)
			for range records {
				if _, err := a.Write([]byte("hello")); err != nil {
					t.Fatal(err)
				}
			}
			all := make([]byte, records*length)
			if _, err := io.ReadFull(ends[1], all); err != nil {
				t.Fatal(err)
			}
			others := sockets(t)
			_, b := pair(t, others)
			if _, err := others[0].Write(tc.change(all)); err != nil {
				t.Fatal(err)
			}
			others[0].Close()
			buf := make([]byte, 100)
			for range tc.good {
				if n, err := b.Read(buf); err != nil || string(buf[:n]) != "hello" {
					t.Fatalf("got %q, %v", buf[:n], err)
				}
			}
			if n, err := b.Read(buf); !errors.Is(err, tc.want) {
				t.Errorf("got %q, %v, want %v", buf[:n], err, tc.want)
			}
		})
	}
}

// TestUsedUp has one end send as much as it may: both ends see that the connection has ended.
func TestUsedUp(t *testing.T) {
	defer bypass.SetMost(10)()
	ends := sockets(t)
	for _, end := range ends {
		if err := end.SetDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	a, b := pair(t, ends)
	if _, err := a.Write([]byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write([]byte("0")); !errors.Is(err, bypass.ErrUsedUp) {
		t.Errorf("got %v, want %v", err, bypass.ErrUsedUp)
	}
	if n, err := b.Read(make([]byte, 20)); n != 10 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if n, err := b.Read(make([]byte, 20)); !errors.Is(err, io.EOF) {
		t.Errorf("the other end: got %d, %v, want %v", n, err, io.EOF)
	}
	if err := a.Await(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the end that has sent so much: got %v, want that it is closed", err)
	}
}

// TestTogether adds records: they are written by Flush, by a Write after them, and when they are many.
func TestTogether(t *testing.T) {
	ends := sockets(t)
	a, b := pair(t, ends)
	for _, end := range ends { // all that is said here fits into the socket
		raw, err := end.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 4*wire.AtOnce) })
	}
	came := func() int {
		n := 0
		raw, err := ends[1].SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	add := func(record string) {
		t.Helper()
		if err := a.Add([]byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(records ...string) {
		t.Helper()
		for _, r := range records {
			buf := make([]byte, bypass.MaxRecord)
			if n, err := b.Read(buf); err != nil || string(buf[:n]) != r {
				t.Errorf("got %.20q, %v, want %.20q", buf[:n], err, r)
			}
		}
	}
	add("one")
	add("two")
	if n := came(); n != 0 {
		t.Errorf("%d bytes came before the flush", n)
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	want("one", "two")
	add("three")
	if _, err := a.Write([]byte("four")); err != nil {
		t.Fatal(err)
	}
	want("three", "four")
	large := string(make([]byte, wire.MaxData))
	for range wire.AtOnce / wire.MaxData {
		add(large)
	}
	if n := came(); n != 0 {
		t.Errorf("%d bytes came before they were many", n)
	}
	add("more")
	if n := came(); n < wire.AtOnce {
		t.Errorf("%d bytes came when they were many, want at least %d", n, wire.AtOnce)
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	for range wire.AtOnce / wire.MaxData {
		want(large)
	}
	want("more")
}

func TestTooLarge(t *testing.T) {
	a, _ := pair(t, sockets(t))
	if _, err := a.Write(make([]byte, bypass.MaxRecord+1)); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("got %v, want %v", err, wire.ErrFrame)
	}
	if _, err := bypass.New(sockets(t)[0], make([]byte, 16), make([]byte, 32)); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("a short key: got %v, want %v", err, wire.ErrFrame)
	}
}

// TestCloseEndsReads: who waits for a record does not wait for ever.
func TestCloseEndsReads(t *testing.T) {
	_, b := pair(t, sockets(t))
	read := make(chan error)
	go func() { read <- b.Await() }()
	b.Close()
	if <-read == nil {
		t.Error("a record has come over a closed connection")
	}
}

// TestFrames puts frames into records, well and badly.
func TestFrames(t *testing.T) {
	one, two := wire.AppendData(nil, wire.TypeStdin, 1, []byte("one")), wire.AppendData(nil, wire.TypeStdoutTaken, 2, nil)
	for _, tc := range []struct {
		name    string
		records [][]byte
		frames  int
		want    error
	}{
		{"one in each", [][]byte{one, two}, 2, io.EOF},
		{"two in one", [][]byte{slices.Concat(one, two)}, 2, io.EOF},
		{"an empty record", [][]byte{one, nil, two}, 2, io.EOF},
		{"a frame in two records", [][]byte{one, one[:wire.HeaderSize+1], one[wire.HeaderSize+1:]}, 1, wire.ErrFrame},
		{"a header, and its data in the next record", [][]byte{one[:wire.HeaderSize], one[wire.HeaderSize:], two}, 2, io.EOF},
		{"a frame behind such data", [][]byte{one[:wire.HeaderSize], slices.Concat(one[wire.HeaderSize:], two)}, 2, io.EOF},
		{"such data behind a frame", [][]byte{slices.Concat(one, one[:wire.HeaderSize]), one[wire.HeaderSize:]}, 2, io.EOF},
		{"data in two more records", [][]byte{one[:wire.HeaderSize], one[wire.HeaderSize : wire.HeaderSize+1], one[wire.HeaderSize+1:]}, 0, wire.ErrFrame},
		{"a header, and nothing", [][]byte{one[:wire.HeaderSize]}, 0, io.ErrUnexpectedEOF},
		{"a header in two records", [][]byte{two[:5], two[5:]}, 0, wire.ErrFrame},
		{"no frame", [][]byte{bytes.Repeat([]byte{0xff}, 40)}, 0, wire.ErrFrame},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ends := sockets(t)
			a, b := pair(t, ends)
			for _, r := range tc.records {
				if _, err := a.Write(r); err != nil {
					t.Fatal(err)
				}
			}
			ends[0].Close()
			frames := bypass.NewFrames(b)
			for n := range tc.frames {
				h, data, err := frames.Next()
				if err != nil || h.Length != uint32(len(data)) || n == 0 && string(data) != "one" {
					t.Fatalf("frame %d: got %+v, %q, %v", n, h, data, err)
				}
			}
			if _, _, err := frames.Next(); !errors.Is(err, tc.want) {
				t.Errorf("at the end: got %v, want %v", err, tc.want)
			}
		})
	}
}

// FuzzConn has the other end say anything.
func FuzzConn(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{16, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	f.Add([]byte{255, 255, 0, 0})
	f.Fuzz(func(t *testing.T, said []byte) {
		ends := sockets(t)
		_, b := pair(t, ends)
		go func() {
			_, _ = ends[0].Write(said)
			ends[0].Close()
		}()
		if got, _ := io.ReadAll(b); len(got) > 0 {
			t.Errorf("got %d bytes that nobody has sealed", len(got))
		}
	})
}

// BenchmarkBytes moves records of the usual size over a connection of TCP.
func BenchmarkBytes(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() { c, _ := l.Accept(); accepted <- c }()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	there, back := keys()
	from, err := bypass.New(dialed.(*net.TCPConn), back, there)
	if err != nil {
		b.Fatal(err)
	}
	to, err := bypass.New((<-accepted).(*net.TCPConn), there, back)
	if err != nil {
		b.Fatal(err)
	}
	record := make([]byte, bypass.MaxRecord)
	b.SetBytes(bypass.MaxRecord)
	go func() {
		for range b.N {
			if _, err := from.Write(record); err != nil {
				return
			}
		}
	}()
	for range b.N {
		if _, err := to.Read(record); err != nil {
			b.Fatal(err)
		}
	}
}
