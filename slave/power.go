package slave

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Power holds the commands that bring the machine down: each a program and its arguments.
type Power struct {
	Reboot, Halt, Off []string
}

// DefaultPower returns the commands that each distribution has, whatever its init is.
func DefaultPower() Power {
	return Power{Reboot: []string{"reboot"}, Halt: []string{"halt"}, Off: []string{"poweroff"}}
}

// command returns the command for an action of [wire.Power].
func (p Power) command(action string) []string {
	return map[string][]string{"reboot": p.Reboot, "halt": p.Halt, "pwroff": p.Off}[action]
}

// powerTime bounds how long a command may take.
const powerTime = time.Minute

// powers brings the machine down when the master requests it.
type powers struct {
	log      *slog.Logger
	commands Power
	tell     func(wire.Message) error
	busy     atomic.Bool // a command runs; there is at most one
}

// begin runs the command for an action and then reports how it has ended. Nothing waits for that:
// the command is meant to end this daemon, and then goes on.
func (p *powers) begin(m *wire.Power) {
	if !p.busy.CompareAndSwap(false, true) {
		p.log.Warn("the machine is about to go down already", "msg", m.Action)
		return
	}
	p.log.Info("the front end has this machine go down", "msg", m.Action)
	go func() {
		defer p.busy.Store(false)
		reply := &wire.Powered{Action: m.Action}
		if err := execute(p.commands.command(m.Action), powerTime); err != nil {
			p.log.Error("the machine does not go down", "msg", m.Action, "err", err)
			reply.Text = err.Error()
		}
		if err := p.tell(reply); err != nil {
			p.log.Warn("the front end is not told what becomes of its wish", "msg", m.Action, "err", err)
		}
	}()
}

// maxSaid bounds how much of a command's output is kept.
const maxSaid = 4096

// said keeps the beginning of what is written to it.
type said struct{ bytes.Buffer }

func (s *said) Write(b []byte) (int, error) {
	s.Buffer.Write(b[:min(len(b), max(0, maxSaid-s.Len()))])
	return len(b), nil
}

// line returns a colon and the first line, or nothing if there is none.
func (s *said) line() string {
	line, _, _ := strings.Cut(strings.TrimSpace(s.String()), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}

// execute runs a command to its end, for at most limit.
func execute(argv []string, limit time.Duration) error {
	if len(argv) == 0 {
		return errors.New("there is no command for that")
	}
	var out said
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &out, &out
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	late := time.AfterFunc(limit, func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) })
	err := cmd.Wait()
	switch name := strings.Join(argv, " "); {
	case !late.Stop():
		return fmt.Errorf("%s: it has not ended within %v, and was killed", name, limit)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return fmt.Errorf("%s: %w%s", name, err, out.line())
	}
	return nil
}
