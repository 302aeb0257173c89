package bpcheck_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bproc/cmd/internal/bpcheck"
	"bproc/internal/check"
	"bproc/internal/probe"
)

// bare returns a machine with a kernel whose probes all fail.
func bare(t *testing.T, osrelease string) check.Machine {
	t.Helper()
	m := check.Machine{Root: probe.Root(t.TempDir()), Prefix: "/opt/bproc", UID: 1000, Release: "v1", Probes: check.RealProbes()}
	no := errors.New("no")
	m.SetTID = func() error { return no }
	m.Seccomp = func() error { return no }
	m.FrontEnd = func(string) (string, string, error) { return "", "", no }
	m.Inquire = nil // must not be called: there is no master
	path := m.Root.Path("/proc/sys/kernel/osrelease")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(osrelease), 0o600); err != nil {
		t.Fatal(err)
	}
	return m
}

func run(t *testing.T, colours bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, bad bytes.Buffer
	c := bpcheck.Command{Machine: bare(t, "5.9.0\n"), Stdout: &out, Stderr: &bad, Colours: colours}
	code = c.Main(t.Context(), args)
	return code, out.String(), bad.String()
}

func TestText(t *testing.T) {
	code, out, bad := run(t, false, "--node")
	if code != 1 || bad != "" {
		t.Errorf("got %d, %q", code, bad)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	want := []string{
		"node:",
		"  fail  kernel              Linux 5.9.0",
		"        -> bproc needs Linux 5.10 or newer: install a newer kernel and boot it",
		"  skip  privileges          what root may do here: only root can look",
	}
	if got := strings.Join(lines[:len(want)], "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, " ok, ") || !strings.Contains(last, " failures, ") || !strings.Contains(last, " not looked at") {
		t.Errorf("summary: %q", last)
	}
	if strings.Contains(out, "\x1b") {
		t.Error("there are colours where there is no terminal")
	}
	if _, out, _ := run(t, true, "--node"); !strings.Contains(out, "\x1b[31mfail\x1b[0m") {
		t.Error("there are no colours on a terminal")
	}
}

// TestForeignText feeds control characters, as a machine that answers in place of a master can.
func TestForeignText(t *testing.T) {
	var out bytes.Buffer
	c := bpcheck.Command{Machine: bare(t, "5.9.0\x1b[2J\nof two lines"), Stdout: &out}
	c.Main(t.Context(), []string{"--node"})
	if want := "kernel              Linux 5.9.0\ufffd[2J\n                            of two lines\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got %q", out.String())
	}
}

func TestJSON(t *testing.T) {
	code, out, _ := run(t, true, "--json", "--front-end", "--node")
	var got struct {
		Release string
		Sides   []string
		Checks  []struct{ Side, Name, Status, Found, Remedy string }
	}
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if code != 1 || got.Release != "v1" || strings.Join(got.Sides, ",") != "front end,node" || len(got.Checks) == 0 {
		t.Errorf("got %d, %+v", code, got)
	}
	if first := got.Checks[0]; first.Side != "front end" || first.Name != "kernel" || first.Status != "fail" || first.Found != "Linux 5.9.0" {
		t.Errorf("got %+v", first)
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--nonsense", "bpctl check: there is no option --nonsense; --help lists those that there are\n"},
		{"front", "bpctl check: operand \"front\": a master is for --node\n"},
		{"--node a b", "bpctl check: operand \"b\" is one too many\n"},
		{"", "bpctl check: this machine may become a front end or a node: say --front-end or --node\n"},
	} {
		code, out, bad := run(t, false, strings.Fields(test.args)...)
		if code != 2 || out != "" || bad != test.want {
			t.Errorf("%q: got %d, %q, %q; want 2, %q", test.args, code, out, bad, test.want)
		}
	}
}
