package cluster_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"bproc/test/cluster"
)

// screen is a tmux terminal on the front end that runs a dash, which does not change the settings
// of its terminal.
type screen struct {
	t    *testing.T
	c    *cluster.Cluster
	tmux []string
}

const screenPrompt = "here>" // tmux omits blanks at the ends of lines

func newScreen(t *testing.T, c *cluster.Cluster) *screen {
	t.Helper()
	// The server of another test may still be ending.
	s := &screen{t: t, c: c, tmux: []string{"tmux", "-S", "/run/" + t.Name() + ".sock", "-f", "/dev/null"}}
	s.do("new-session", "-d", "-x", "80", "-y", "24", "env", "TERM=screen", "PS1="+screenPrompt, "ENV=", "dash", "-i")
	t.Cleanup(func() { _, _ = c.Front.Exec(context.Background(), cluster.Root, append(s.tmux, "kill-server")...) })
	s.do("set", "-g", "status", "off")
	s.do("resize-window", "-x", "80", "-y", "24")
	s.expect("^" + screenPrompt + "$")
	return s
}

func (s *screen) do(args ...string) string {
	s.t.Helper()
	return ask(s.t, s.c.Front, cluster.Root, slices.Concat(s.tmux, args)...)
}

// typ types text and then keys by their names in tmux.
func (s *screen) typ(text string, keys ...string) {
	s.t.Helper()
	if text != "" {
		s.do("send-keys", "-l", text)
	}
	if len(keys) > 0 {
		s.do(append([]string{"send-keys"}, keys...)...)
	}
}

// line types a line.
func (s *screen) line(text string) {
	s.t.Helper()
	s.typ(text, "Enter")
}

// expect waits until a pattern matches the screen.
func (s *screen) expect(pattern string) {
	s.t.Helper()
	re := regexp.MustCompile(`(?m)` + pattern)
	cluster.Eventually(s.t, "the screen shows "+pattern, func() error {
		if shown := s.do("capture-pane", "-p"); !re.MatchString(shown) {
			return fmt.Errorf("it shows\n%s", shown)
		}
		return nil
	})
}

// TestTerminal is a session in a shell of a node.
func TestTerminal(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	s := newScreen(t, c)
	const there = "there>"
	s.line("bprsh -t n1 'PS1=\"" + there + "\" bash --norc'")
	s.expect(there + "$")

	s.line("tty; stty size; hostname; echo $TERM")
	s.expect(`/dev/pts/\d+\n24 80\n` + c.Nodes[1].Name + `\nscreen`)
	s.do("resize-window", "-x", "100", "-y", "30")
	s.line("clear; until [ \"$(stty size)\" = '30 100' ]; do sleep 0.1; done; stty size")
	s.expect(`^30 100\n` + there)

	s.line("clear; sleep 1000")
	wantSleep(t, c, "S")
	s.typ("", "C-z")
	s.expect(`Stopped .*sleep 1000\n` + there + `$`)
	wantSleep(t, c, "T")
	s.line("clear; fg")
	s.expect(`^sleep 1000$`)
	wantSleep(t, c, "S")
	s.typ("", "C-c")
	s.expect(`\^C\n` + there + `$`)
	s.line("echo status $?; jobs")
	s.expect(`status 130\n` + there + `$`)

	s.line("seq 1 200 >/tmp/lines; less /tmp/lines")
	s.expect(`\A1\n2\n`)
	s.typ("", "Space")
	s.expect(`^40\n`)
	s.typ("q")
	s.expect(there + "$")
	s.line("vi /tmp/lines")
	s.expect(`\A1\n2\n`)
	s.typ("ihello ", "Escape")
	s.typ(":wq", "Enter")
	s.expect(`vi /tmp/lines\n` + there + `$`)
	s.line("clear; head -n 1 /tmp/lines; rm /tmp/lines")
	s.expect(`^hello 1\n` + there + `$`)

	// Ctrl-Z of this side, and back.
	s.typ("", "Enter", "~", "C-z")
	s.expect("^" + screenPrompt + "$")
	s.line("clear; stty -a | grep -o '[-]*icanon'")
	s.expect(`\Aicanon\n` + screenPrompt + `$`)
	s.line("fg")
	s.expect(`^bprsh `)
	s.line("clear")
	s.expect(`\A` + there + `$`)
	s.line("exit 3")
	s.expect("^" + screenPrompt + "$")
	s.line("clear; echo status $?; stty -a | grep -o '[-]*icanon'")
	s.expect(`icanon\n` + screenPrompt + `$`)
	wantIdle(t, c)
}

// TestTerminalIsRestored ends bprsh in other ways.
func TestTerminalIsRestored(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	s := newScreen(t, c)
	for _, tt := range []struct {
		name   string
		end    func()
		status string
	}{
		{"SIGKILL", func() { ask(t, c.Front, cluster.Root, "pkill", "-KILL", "-x", "bprsh") }, "137"},
		{"SIGTERM", func() { ask(t, c.Front, cluster.Root, "pkill", "-TERM", "-x", "bprsh") }, "143"},
		{"a SIGABRT, as of a crash", func() { ask(t, c.Front, cluster.Root, "pkill", "-SEGV", "-x", "bprsh") }, "2"},
		{"the user", func() { s.typ("", "Enter", "~", ".") }, "255"},
		{"its command", func() { ask(t, c.Front, cluster.Root, "pkill", "-KILL", "-x", "sleep") }, "137"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.line("clear; bprsh -t n1 'echo ready; exec sleep 1000'; printf '\\r\\nstatus %s\\r\\n' $?")
			s.expect(`ready`)
			wantSleep(t, c, "S")
			tt.end()
			// The shell may be faster than the process that restores the settings: its first lines
			// can begin anywhere.
			s.expect(`^status ` + tt.status + `\s+` + screenPrompt + `$`)
			wantSleep(t, c, "")
			s.line("clear; until stty -a | grep -q ' icanon'; do sleep 0.1; done; stty -a | grep -o '[-]*\\(icanon\\|echo\\|isig\\|opost\\|icrnl\\) ' | xargs")
			s.expect(`\A.*icrnl opost isig icanon echo`)
			wantIdle(t, c)
		})
	}
}
