package master

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/test/limit"
	"bproc/wire"
)

// several is a client that asks a master for several processes.
type several struct {
	t      *testing.T
	m      *Master
	conn   *net.UnixConn // of the request
	served chan struct{} // closed when the master has done with it
}

func askSeveral(t *testing.T, m *Master, request *wire.RunMany) *several {
	master, client := socketPair(t)
	if err := wire.Write(client, 0, request); err != nil {
		t.Fatal(err)
	}
	s := &several{t: t, m: m, conn: client, served: make(chan struct{})}
	go func() {
		defer close(s.served)
		(&clientConn{m: m, log: m.log, conn: master, who: core.Caller{PID: 2, UID: 1000}, spoken: func() {}, steps: make(chan step, maxSteps)}).serve(t.Context())
	}()
	return s
}

// answer reads the answer, and the connections that come with it.
func (s *several) answer() (wire.Message, []net.Conn) {
	s.t.Helper()
	text, rights := make([]byte, 512), make([]byte, unix.CmsgSpace(4*wire.MaxRuns))
	n, rightsN, _, _, err := s.conn.ReadMsgUnix(text, rights)
	if err != nil {
		s.t.Fatal(err)
	}
	m, _, err := wire.NewReader(strings.NewReader(string(text[:n]))).Read()
	if err != nil {
		s.t.Fatal(err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rightsN])
	if err != nil {
		s.t.Fatal(err)
	}
	var conns []net.Conn
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			s.t.Fatal(err)
		}
		for _, fd := range fds {
			f := os.NewFile(uintptr(fd), "connection")
			conn, err := net.FileConn(f)
			f.Close()
			if err != nil {
				s.t.Fatal(err)
			}
			s.t.Cleanup(func() { conn.Close() })
			conns = append(conns, conn)
		}
	}
	return m, conns
}

// seatsAre waits until so many seats are taken.
func (s *several) seatsAre(want int) {
	s.t.Helper()
	until := time.Now().Add(limit.Scaled(10 * time.Second))
	for got := -1; got != want; time.Sleep(time.Millisecond) {
		if got = s.m.seats.shares.Taken(); got != want && time.Now().After(until) {
			s.t.Fatalf("%d seats are taken, want %d", got, want)
		}
	}
}

// runs returns a request for processes on a node that does not exist.
func runs(count int) *wire.RunMany {
	m := &wire.RunMany{Version: wire.Version, Command: wire.Command{Argv: []string{"true"}, Env: []string{"A=1"}}}
	for i := range count {
		m.Runs = append(m.Runs, wire.OneRun{Node: 4, Ghost: wire.PID(4711 + i), Launch: uint64(i + 1), Env: []string{fmt.Sprint("RANK=", i)}})
	}
	return m
}

// TestRunMany checks that each process has a connection, on which its answer comes, and that seats are taken as long as
// something of the request is there.
func TestRunMany(t *testing.T) {
	m := newMade(t, 3)
	s := askSeveral(t, m, runs(3))
	answer, conns := s.answer()
	if want := (&wire.Connections{Count: 3}); !reflect.DeepEqual(answer, want) || len(conns) != 3 {
		t.Fatalf("got %+v with %d connections", answer, len(conns))
	}
	for i, conn := range conns {
		got, _, err := wire.NewReader(conn).Read()
		if want := (&wire.Failed{Stage: wire.StageNode, Errno: uint32(unix.ENXIO)}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("process %d: got %+v, %v, want %+v", i, got, err, want)
		}
	}
	s.seatsAre(3) // the request's connection is open: what came with it might not have been taken
	if err := s.conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	s.seatsAre(3)
	s.conn.Close()
	s.seatsAre(0)
	<-s.served
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	if len(m.state.clients) > 0 {
		t.Errorf("clients are left: %v", m.state.clients)
	}
}

// TestRunManyHasNoRoom has a user that may have four more seats: two processes take them while both ends are here.
func TestRunManyHasNoRoom(t *testing.T) {
	m := newMade(t, 3)
	most := 0
	for m.seats.shares.Take(1000, 1) {
		most++
	}
	m.seats.shares.Leave(1000, 4)
	s := askSeveral(t, m, runs(3))
	answer, conns := s.answer()
	if want := (&wire.Connections{Count: 2}); !reflect.DeepEqual(answer, want) || len(conns) != 2 {
		t.Errorf("got %+v with %d connections", answer, len(conns))
	}
	s.conn.Close()
	s.seatsAre(most - 4)
	<-s.served
}

// TestRunManyIsBounded makes requests that are too large, or make no sense.
func TestRunManyIsBounded(t *testing.T) {
	ask := requests(t)
	for name, change := range map[string]func(*wire.RunMany){
		"one process":     func(m *wire.RunMany) { m.Runs = m.Runs[:1] },
		"too many":        func(m *wire.RunMany) { m.Runs = runs(wire.MaxRuns + 1).Runs },
		"no command":      func(m *wire.RunMany) { m.Command.Argv = nil },
		"no launch":       func(m *wire.RunMany) { m.Runs[1].Launch = 0 },
		"long altogether": func(m *wire.RunMany) { *m = *runs(wire.MaxRuns); m.Command.Env = make([]string, 30_000) },
	} {
		request := runs(2)
		change(request)
		got, ok := ask(core.Caller{PID: 2, UID: 1000}, request).(*wire.Failed)
		if !ok || got.Stage != wire.StageRequest || got.Text == "" || got.Errno != uint32(unix.EINVAL) && got.Errno != uint32(unix.E2BIG) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestKin compares what a process gets as one of several with what it gets alone.
func TestKin(t *testing.T) {
	var alike kin
	for _, nice := range []string{"1", "3"} {
		cmd := exec.CommandContext(t.Context(), "setsid", "nice", "-n", nice, "sh", "-c", "echo; read x")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		alone := wire.Spawn{PID: wire.PID(cmd.Process.Pid), Parent: wire.PID(os.Getpid()), UID: uint32(os.Getuid()), Command: wire.Command{Argv: []string{nice}}}
		together := alone
		if err := inherit(&alone); err != nil {
			t.Fatal(err)
		}
		if err := alike.inherit(&together); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(together, alone) {
			t.Errorf("nice %s: got %+v, want %+v", nice, together, alone)
		}
	}
}
