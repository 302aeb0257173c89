package bpsh_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpsh"
	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/wire"
)

// TestAgentInput gives a command of bprsh a terminal. Without input it has the end of the file,
// and what bprsh itself could read is for others.
func TestAgentInput(t *testing.T) {
	for _, input := range []bool{false, true} {
		texts := make(chan string, 1)
		m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
			c.Started()
			var text []byte
			for {
				b, err := c.Input()
				if err != nil {
					break
				}
				text = append(text, b...)
			}
			texts <- string(text)
			c.End(0)
		}))
		var stdout, stderr buffer
		stdin := strings.NewReader("next\n")
		sh := bpsh.Shell{Client: &m.Client, Stdin: stdin, Stdout: &stdout, Stderr: &stderr}
		cmd := m.Client.Command(3, "sh")
		cmd.Terminal = new(client.Terminal)
		if code := sh.RunAgent(t.Context(), &bpsh.Agent{Cmd: cmd, Input: input, Escape: terminal.NoEscape}); code != 0 {
			t.Errorf("got exit code %d and %q", code, stderr.String())
		}
		want, left := "\x04", len("next\n")
		if input {
			want, left = "next\n\x04", 0
		}
		if got := <-texts; got != want || stdin.Len() != left {
			t.Errorf("input %v: the command got %q, want %q; %d bytes are left, want %d", input, got, want, stdin.Len(), left)
		}
	}
}

// TestMessageOnRawTerminal has a message begin and end at the beginning of a line.
func TestMessageOnRawTerminal(t *testing.T) {
	master, slave := openTerminal(t)
	raw := make(chan struct{})
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		if r.Node == 11 {
			<-raw
			c.Fail(wire.StageNode, uint32(unix.EHOSTDOWN), "", 0)
			return
		}
		c.Started()
		c.Gone()
		c.EndProcess(0)
	}))
	cmd := command(t, m, "-T", "3,11", "cmd")
	cmd.Stdin, cmd.Stderr = slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for modes := new(unix.Termios); modes.Lflag == 0 || modes.Lflag&unix.ECHO != 0; {
		var err error
		if modes, err = unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS); err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	close(raw)
	line, err := bufio.NewReader(master).ReadString('\n')
	if want := "bpsh: node 11 is down\r\n"; line != want {
		t.Errorf("got %q, %v, want %q", line, err, want)
	}
	if err := unix.Kill(cmd.Process.Pid, unix.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}

// openTerminal opens both ends of a new terminal (pty(7)).
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// TestSizeWhileStarting changes the size of the terminal while the command is being started.
func TestSizeWhileStarting(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sizes := make(chan [2]wire.Size, 1)
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		first := wire.Size(r.Command.Terminal.Size)
		if err := unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 132}); err != nil {
			t.Error(err)
		}
		c.Started()
		_ = c.Output(out, "ready\n")
		for err := error(nil); err == nil; {
			_, err = c.Input()
		}
		sizes <- [2]wire.Size{first, c.Size}
		c.EndProcess(0)
	}))
	if err := unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, m, "-T", "3", "cmd")
	cmd.Stdin = f
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if err := unix.Kill(cmd.Process.Pid, unix.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if got, want := <-sizes, [2]wire.Size{wire.NewSize(24, 80, 0, 0), wire.NewSize(30, 132, 0, 0)}; got != want {
		t.Errorf("got sizes %#x, want %#x", got, want)
	}
}

// TestTerminalWithoutCommand: that is a login shell.
func TestTerminalWithoutCommand(t *testing.T) {
	for shell, want := range map[string]string{"/opt/fish": "/opt/fish [-fish]", "": "/bin/sh [-sh]"} {
		got := make(chan string, 1)
		m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
			got <- fmt.Sprint(r.Command.Path, " ", r.Command.Argv)
			c.Started()
			c.End(0)
		}))
		cmd := command(t, m, "-T", "3")
		cmd.Env = append(cmd.Env, "SHELL="+shell)
		if err := cmd.Run(); err != nil {
			t.Error(err)
			continue
		}
		if got := <-got; got != want {
			t.Errorf("SHELL=%s: got %s, want %s", shell, got, want)
		}
	}
}
