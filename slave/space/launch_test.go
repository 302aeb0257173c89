package space_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

func TestNumberIsTheOneAskedFor(t *testing.T) {
	n := newNode(t)
	for _, pid := range []wire.PID{70000, 1<<20 + 17, 1<<22 - 1} {
		text, status := n.output(command(pid, "sh", "-c", "echo $$; exit 7"))
		if want := fmt.Sprintf("%d\n", pid); text != want {
			t.Errorf("number: got %q, want %q", text, want)
		}
		if status.ExitStatus() != 7 {
			t.Errorf("%d: exit status %d, want 7", pid, status.ExitStatus())
		}
	}
}

func TestEveryExitCode(t *testing.T) {
	n := newNode(t)
	for code := range 256 {
		pid := wire.PID(70000 + code)
		n.mustLaunch(command(pid, "sh", "-c", fmt.Sprint("exit ", code)))
		if s := n.awaitStatus(pid, over); s != unix.WaitStatus(wire.ExitStatus(code)) {
			t.Errorf("exit %d: status %#x", code, s)
		}
	}
}

// line returns the text after a name in a file like /proc/PID/status, with its spaces collapsed.
func line(t *testing.T, text, name string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `:?\s+(.*?)\s*$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no line %q in:\n%s", name, text)
	}
	return strings.Join(strings.Fields(m[1]), " ")
}

func TestAttributes(t *testing.T) {
	n := newNode(t)
	sp := command(70001, "sh", "-c", `cat /proc/self/status /proc/self/limits; echo "stat: $(cat /proc/$$/stat)"; echo "cwd: $(pwd)"; echo "oom: $(cat /proc/self/oom_score_adj)"`)
	sp.UID, sp.GID, sp.Groups = 1234, 2345, []uint32{7, 8, 9}
	sp.Command.Dir, sp.Command.Umask, sp.Command.Nice = "/tmp", 0o027, -5
	sp.Command.Ignored = 1<<(unix.SIGHUP-1) | 1<<(unix.SIGQUIT-1)
	sp.Command.Limits = []wire.Limit{
		{Resource: unix.RLIMIT_CORE, Soft: 100 << 10, Hard: 200 << 10},
		{Resource: unix.RLIMIT_NOFILE, Soft: 321, Hard: ^uint64(0)}, // above fs.nr_open: cut
	}
	text, status := n.output(sp)
	if !status.Exited() || status.ExitStatus() != 0 {
		t.Fatalf("status %#x", status)
	}
	for name, want := range map[string]string{
		"Uid": "1234 1234 1234 1234", "Gid": "2345 2345 2345 2345", "Groups": "7 8 9", "Umask": "0027",
		"SigBlk": "0000000000000000", "SigIgn": "0000000000000005", "SigCgt": "0000000000000000",
		"CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapInh": "0000000000000000", "CapAmb": "0000000000000000",
		"NoNewPrivs": "0", "Seccomp": "2", "cwd": "/tmp", "oom": "0",
		"Max core file size": "102400 204800 bytes",
	} {
		if got := line(t, text, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got := line(t, text, "Max open files"); !strings.HasPrefix(got, "321 ") {
		t.Errorf("open files: got %q, want the soft limit 321", got)
	}
	stat := strings.Fields(line(t, text, "stat"))
	if got := stat[4] + " " + stat[5]; got != "70001 1" {
		t.Errorf("group and session: got %s, want its own group in init's session", got)
	}
	if stat[18] != "-5" {
		t.Errorf("nice: got %s, want -5", stat[18])
	}
}

func TestNoOtherDescriptors(t *testing.T) {
	n := newNode(t)
	if text, _ := n.output(command(70001, "ls", "/proc/self/fd")); text != "0\n1\n2\n3\n" { // 3: that directory
		t.Errorf("got %q", text)
	}
}

func TestRootHasTheDaemonsCapabilities(t *testing.T) {
	n := newNode(t)
	text, _ := n.output(command(70001, "cat", "/proc/self/status"))
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := line(t, text, "CapEff"), line(t, string(own), "CapPrm"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDirectoryThatIsNotThere(t *testing.T) {
	n := newNode(t)
	sp := command(70001, "pwd")
	sp.Command.Dir = "/no/such/directory"
	if text, _ := n.output(sp); text != "/\n" {
		t.Errorf("got %q, want /", text)
	}
}

func TestCommandsThatCannotBeExecuted(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"data": "x\n", "text": "echo as a script $1\n", "badsh": "#!/no/such/shell\n"} {
		mode := os.FileMode(0o755)
		if name == "data" {
			mode = 0o644
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	n := newNode(t)
	for i, c := range []struct {
		argv0, path string
		want        unix.Errno
	}{
		{"no-such-command", "/usr/bin:/bin", unix.ENOENT},
		{"", "/usr/bin:/bin", unix.ENOENT},
		{"/no/such/command", "", unix.ENOENT},
		{"/etc/passwd/x", "", unix.ENOTDIR},
		{"data", "/nowhere:" + dir + ":/bin", unix.EACCES},
		{dir, "", unix.EACCES},
		{dir + "/badsh", "", unix.ENOENT},
		{"text", dir, 0},           // no magic number: a script
		{"true", dir + ":/bin", 0}, // the second of two
	} {
		sp := command(wire.PID(70000+i), c.argv0, "arg")
		sp.Command.Env = []string{"PATH=" + c.path}
		want := launchResult{}
		if c.want != 0 {
			want = launchResult{wire.StageExec, c.want}
		}
		if got := n.launch(sp); got != want {
			t.Errorf("%q with PATH=%s: got %v, want %v", c.argv0, c.path, got, want)
		}
		if c.want == 0 {
			n.awaitStatus(sp.PID, over)
		}
	}
	// The number of a process that could not execute is free, and no status was reported for it.
	n.mustLaunch(command(70000, "true"))
	n.awaitStatus(70000, over)
	n.mu.Lock()
	defer n.mu.Unlock()
	if got := len(n.statuses[70001]) + len(n.statuses[70000]); got != 1 {
		t.Errorf("%d statuses, want 1: of the process that ran", got)
	}
}

func TestScriptGetsItsNameAndArguments(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("echo $0 $1 $2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	n := newNode(t)
	text, _ := n.output(command(70001, script, "a", "b"))
	if want := script + " a b\n"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	n := newNode(t)
	for name, c := range map[string]struct {
		change func(*wire.Spawn)
		want   unix.Errno
	}{
		"init":           {func(sp *wire.Spawn) { sp.PID = 1 }, unix.EINVAL},
		"negative":       {func(sp *wire.Spawn) { sp.PID = -5 }, unix.EINVAL},
		"no command":     {func(sp *wire.Spawn) { sp.Command.Argv = nil }, unix.EINVAL},
		"NUL":            {func(sp *wire.Spawn) { sp.Command.Argv = []string{"true", "a\x00b"} }, unix.EINVAL},
		"no stream":      {func(sp *wire.Spawn) { sp.Command.Stdio[0].Mode = wire.DescriptorStream }, unix.EBADF},
		"no such mode":   {func(sp *wire.Spawn) { sp.Command.Stdio[0].Mode = 9 }, unix.EINVAL},
		"no such limit":  {func(sp *wire.Spawn) { sp.Command.Limits = []wire.Limit{{Resource: 16}} }, unix.EINVAL},
		"soft over hard": {func(sp *wire.Spawn) { sp.Command.Limits = []wire.Limit{{Resource: 4, Soft: 2, Hard: 1}} }, 0},
	} {
		sp := command(70001, "true")
		c.change(sp)
		want := launchResult{wire.StageRequest, c.want}
		if c.want == 0 {
			want = launchResult{}
		}
		if got := n.launch(sp); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestNumberInUse(t *testing.T) {
	n := newNode(t)
	n.mustLaunch(command(70001, "sleep", "1000"))
	if got, want := n.launch(command(70001, "true")), (launchResult{wire.StageSpawn, unix.EEXIST}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestStatusComesAfterLaunched(t *testing.T) {
	n := newNode(t)
	const count = 200
	for i := range count {
		sp := command(wire.PID(70000+i), "true")
		err := n.Launch(sp, nil, nil, func(wire.Stage, unix.Errno) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.order = append(n.order, "launched "+sp.PID.String())
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range count {
		n.awaitStatus(wire.PID(70000+i), over)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range count {
		pid := wire.PID(70000 + i).String()
		if l, s := slices.Index(n.order, "launched "+pid), slices.Index(n.order, "status "+pid); l < 0 || s < l {
			t.Errorf("%s: launched is callback %d, status %d", pid, l, s)
		}
	}
}

func TestLargeCommand(t *testing.T) {
	n := newNode(t)
	sp := command(70001, "sh", "-c", `echo ${#BIG} $#`, "sh")
	sp.Command.Env = append(sp.Command.Env, "BIG="+strings.Repeat("x", 100<<10))
	for range 15 {
		sp.Command.Argv = append(sp.Command.Argv, strings.Repeat("y", 100<<10))
	}
	if text, _ := n.output(sp); text != "102400 15\n" {
		t.Errorf("got %q", text)
	}
	sp.PID++
	for len(sp.Command.Argv) < 36 { // above the kernel's limit, within the frame's
		sp.Command.Argv = append(sp.Command.Argv, strings.Repeat("y", 100<<10))
	}
	sp.Command.Stdio[1].Mode = wire.DescriptorNull
	if got, want := n.launch(sp), (launchResult{wire.StageExec, unix.E2BIG}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
