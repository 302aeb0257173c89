package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// terminal is an interactive bash on the front end, on a terminal.
type terminal struct {
	t      *testing.T
	shell  *cluster.Cmd
	master *os.File

	mu     sync.Mutex
	output string // not yet expected
}

const terminalPrompt = "prompt> "

// newTerminal starts a shell on a new terminal.
func newTerminal(t *testing.T, m *cluster.Machine, user cluster.User) *terminal {
	t.Helper()
	master, slave := openTerminal(t, user)
	defer slave.Close()
	term := &terminal{t: t, master: master}
	term.shell = m.Command(t.Context(), user, "bash", "--norc", "--noediting", "-i")
	term.shell.Stdin, term.shell.Stdout, term.shell.Stderr = slave, slave, slave
	term.shell.Env = append(term.shell.Env, "PS1="+terminalPrompt)
	term.shell.SysProcAttr.Setctty = true
	if err := term.shell.Start(); err != nil {
		t.Fatal(err)
	}
	go term.read()
	t.Cleanup(func() {
		_ = term.shell.Process.Kill()
		_ = term.shell.Wait()
		master.Close()
	})
	term.expect(terminalPrompt)
	return term
}

// openTerminal opens both ends of a new terminal that belongs to user (pty(7)).
func openTerminal(t *testing.T, user cluster.User) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Through SyscallConn: Fd would make reads block in a way that Close cannot interrupt.
	raw, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number int
	var unlockErr, numberErr error
	err = raw.Control(func(fd uintptr) {
		unlockErr = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		number, numberErr = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
	})
	if err := errors.Join(err, unlockErr, numberErr); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := slave.Chown(int(user.UID), int(user.GID)); err != nil {
		t.Fatal(err)
	}
	return master, slave
}

func (term *terminal) read() {
	b := make([]byte, 4096)
	for {
		n, err := term.master.Read(b)
		if err != nil {
			return
		}
		term.mu.Lock()
		term.output += string(b[:n])
		term.mu.Unlock()
	}
}

// typ types keys.
func (term *terminal) typ(keys string) {
	term.t.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

// do types a line, and waits for its echo.
func (term *terminal) do(line string) {
	term.t.Helper()
	term.typ(line + "\n")
	term.expect(line + "\r\n")
}

// expect waits for text, and returns what was shown before it.
func (term *terminal) expect(text string) string {
	term.t.Helper()
	for deadline := time.Now().Add(lineTimeout); ; time.Sleep(time.Millisecond) {
		term.mu.Lock()
		before, after, found := strings.Cut(term.output, text)
		if found {
			term.output = after
		}
		shown := term.output
		term.mu.Unlock()
		if found {
			return before
		}
		if time.Now().After(deadline) {
			term.t.Fatalf("the terminal shows %q, want %q", shown, text)
		}
	}
}
