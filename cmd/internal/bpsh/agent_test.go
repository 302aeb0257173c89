package bpsh_test

import (
	"strings"
	"testing"

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
