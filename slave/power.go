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

// Power are the commands by which the machine goes down: words, the first of which is a program.
type Power struct {
	Reboot, Halt, Off []string
}

// DefaultPower are those that each distribution has, whatever its init is.
func DefaultPower() Power {
	return Power{Reboot: []string{"reboot"}, Halt: []string{"halt"}, Off: []string{"poweroff"}}
}

// command returns that for an action of [wire.Power].
func (p Power) command(action string) []string {
	return map[string][]string{"reboot": p.Reboot, "halt": p.Halt, "pwroff": p.Off}[action]
}

// powerTime bounds how long such a command may take.
const powerTime = time.Minute

// powers has the machine go down when the master says so.
type powers struct {
	log      *slog.Logger
	commands Power
	tell     func(wire.Message) error
	busy     atomic.Bool // one command runs, and no other beside it
}

// begin runs the command for an action, and says then how it has ended. Nobody waits for that:
// the command is to end this daemon, and goes on then.
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

// maxSaid bounds what is kept of what a command prints.
const maxSaid = 4096

// said keeps the beginning of what is written to it.
type said struct{ bytes.Buffer }

func (s *said) Write(b []byte) (int, error) {
	s.Buffer.Write(b[:min(len(b), max(0, maxSaid-s.Len()))])
	return len(b), nil
}

// line returns the first line, behind a colon; nothing if there is none.
func (s *said) line() string {
	line, _, _ := strings.Cut(strings.TrimSpace(s.String()), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}

// execute runs a command to its end, for a time at most.
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
