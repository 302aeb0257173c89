package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/crowd"
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
	s.seatsAre(4) // nothing has been read
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
	s.conn.Close()
	s.seatsAre(0)
	<-s.served
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	if len(m.state.clients) > 0 {
		t.Errorf("clients are left: %v", m.state.clients)
	}
}

// TestRunManyNotTaken has clients that end their connection in some way, and could still read what came with the answer.
func TestRunManyNotTaken(t *testing.T) {
	for name, how := range map[string]int{"writing": unix.SHUT_WR, "both": unix.SHUT_RDWR} {
		m := newMade(t, 3)
		master, client := socketPair(t)
		all := &many{c: &clientConn{m: m, log: m.log, conn: master}}
		if !all.add(func() {}) {
			t.Fatal("no room")
		}
		if err := all.handOver(master); err != nil {
			t.Fatal(err)
		}
		if err := shutdown(client, how); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), lookAfter/2)
		awaitTaken(ctx, master)
		if ctx.Err() == nil {
			t.Errorf("shutdown of %s: the master does not wait", name)
		}
		cancel()
		client.Close()
		awaitTaken(t.Context(), master)
		all.members[0].conn.conn.Close()
		all.members[0].leave()
	}
}

func shutdown(conn *net.UnixConn, how int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.Shutdown(int(fd), how) })
	return errors.Join(err, failed)
}

// TestRunManyHasNoRoom has a user that may have five more seats: one is the request's, and two processes take four while
// both their ends are here.
func TestRunManyHasNoRoom(t *testing.T) {
	m := newMade(t, 3)
	most := 0
	for m.seats.shares.Take(1000, 1) {
		most++
	}
	m.seats.shares.Leave(1000, 5)
	s := askSeveral(t, m, runs(3))
	answer, conns := s.answer()
	if want := (&wire.Connections{Count: 2}); !reflect.DeepEqual(answer, want) || len(conns) != 2 {
		t.Errorf("got %+v with %d connections", answer, len(conns))
	}
	s.conn.Close()
	s.seatsAre(most - 5)
	<-s.served
}

// TestRunManyIsSettled has requests that count as load: whatever becomes of them, nothing stays taken, and nothing
// of them is kept.
func TestRunManyIsSettled(t *testing.T) {
	for seats, want := range map[int]wire.Message{
		0: &wire.Failed{Stage: wire.StageRequest, Errno: uint32(unix.EMFILE)}, 1: &wire.Failed{Stage: wire.StageRequest, Errno: uint32(unix.EMFILE)},
		3: &wire.Connections{Count: 1}, 9: &wire.Connections{Count: 3},
	} {
		m := newMade(t, 3)
		m.seats.shares = crowd.NewShares[int64](2*seats + 1)
		request := runs(3)
		request.Command.Env = append(request.Command.Env, strings.Repeat("x", 2*smallLoad))
		s := askSeveral(t, m, request)
		answer, _ := s.answer()
		if failed, ok := answer.(*wire.Failed); ok {
			failed.Text = ""
		}
		if !reflect.DeepEqual(answer, want) {
			t.Errorf("%d seats: got %+v, want %+v", seats, answer, want)
		}
		s.conn.Close()
		<-s.served
		s.seatsAre(0)
		m.loads.mu.Lock()
		if len(m.loads.of) > 0 {
			t.Errorf("%d seats: room is taken: %v", seats, m.loads.of)
		}
		m.loads.mu.Unlock()
	}
}

// TestRunManyGivesBackRoom has one of two launches end while the other hangs. It gives back its room, and not that of both.
func TestRunManyGivesBackRoom(t *testing.T) {
	m := newMade(t, 3)
	all := &many{c: &clientConn{m: m, log: m.log, who: core.Caller{PID: 2, UID: 1000}}, taken: make(chan struct{})}
	close(all.taken)
	releases, err := m.loads.takeAll(t.Context(), all.c.payer(), []int{1000, 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, release := range releases {
		if !all.add(release) {
			t.Fatal("no room")
		}
	}
	all.runs(runs(2))
	for i, taken := range []int{100, 0} {
		all.members[i].run(t.Context(), errors.New("not begun"))
		unix.Close(all.members[i].client)
		if !hasTaken(&m.loads, all.c.payer(), taken) {
			t.Fatalf("after %d of two launches, not %d bytes are taken", i+1, taken)
		}
	}
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

// TestKin compares what a process gets as one of several with what it gets alone. Only limits are those of the first.
func TestKin(t *testing.T) {
	var alike kin
	var first []wire.Limit
	for i, how := range []string{"umask 022; ulimit -Sn 77; exec setsid nice -n 1", "umask 077; ulimit -Sn 78; exec setsid setpriv --regid 2345 --groups 7 nice -n 3"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", how+" sh -c 'echo; read x'")
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
		alone := wire.Spawn{PID: wire.PID(cmd.Process.Pid), Parent: wire.PID(os.Getpid()), UID: uint32(os.Getuid()), Command: wire.Command{Argv: []string{how}}}
		together := alone
		if err := inherit(&alone, nil); err != nil {
			t.Fatal(err)
		}
		if err := inherit(&together, &alike); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = alone.Command.Limits
		}
		alone.Command.Limits = first
		if !reflect.DeepEqual(together, alone) {
			t.Errorf("%s: got %+v, want %+v", how, together, alone)
		}
	}
	stranger := wire.Spawn{PID: 1, Parent: wire.PID(os.Getpid()), UID: uint32(os.Getuid())}
	if err := inherit(&stranger, &alike); !errors.Is(err, errOther) {
		t.Errorf("a process of another parent: got %v", err)
	}
}
