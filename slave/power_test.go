package slave

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"bproc/wire"
)

func TestPower(t *testing.T) {
	told := make(chan *wire.Powered, 1)
	p := &powers{log: slog.New(slog.DiscardHandler), tell: func(m wire.Message) error { told <- m.(*wire.Powered); return nil }}
	p.commands = Power{Reboot: []string{"true"}, Halt: []string{"sh", "-c", "echo no; echo way; exit 3"}, Off: []string{"/no/poweroff"}}
	for _, tt := range []struct{ action, want string }{
		{"reboot", ""},
		{"halt", "sh -c echo no; echo way; exit 3: exit status 3: no"},
		{"pwroff", "fork/exec /no/poweroff: no such file or directory"},
		{"dance", "there is no command for that"},
	} {
		for p.busy.Load() {
			time.Sleep(time.Millisecond)
		}
		p.begin(&wire.Power{Action: tt.action})
		if m := <-told; m.Action != tt.action || m.Text != tt.want {
			t.Errorf("%s: got %q, want %q", tt.action, m.Text, tt.want)
		}
	}
}

func TestPowerIsLate(t *testing.T) {
	err := execute([]string{"sh", "-c", "sleep 1000 & wait"}, 200*time.Millisecond)
	if err == nil || !strings.HasSuffix(err.Error(), "it has not ended within 200ms, and was killed") {
		t.Errorf("got %v", err)
	}
	if err := execute([]string{"sh", "-c", "yes | head -c 1000000; exit 1"}, time.Minute); err == nil || len(err.Error()) > 2*maxSaid {
		t.Errorf("one that says a lot: got %v", err)
	}
}

func TestDefaultPower(t *testing.T) {
	for _, action := range []string{"reboot", "halt", "pwroff"} {
		if len(DefaultPower().command(action)) == 0 {
			t.Errorf("there is no command for %s", action)
		}
	}
}
