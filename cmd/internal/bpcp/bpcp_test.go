package bpcp_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bproc/cmd/internal/bpcp"
	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/internal/manpage"
	"bproc/wire"
)

func TestMain(m *testing.M) { fakemaster.Main(m) }

// master starts a master with two nodes, which are down.
func master(t *testing.T) *client.Client {
	c := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, ok := m.(*wire.ListNodes); ok {
			c.Send(&wire.NodeList{Nodes: []wire.Node{{ID: 0, Name: "a", State: "down"}, {ID: 1, Name: "b", State: "down"}}})
		}
	}).Client
	return &c
}

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, bad bytes.Buffer
	c := bpcp.Copier{Client: master(t), Stdout: &out, Stderr: &bad}
	code = c.Main(t.Context(), args)
	return code, out.String(), bad.String()
}

func TestManPage(t *testing.T) {
	_, help, _ := run(t, "--help")
	manpage.CheckOptions(t, "../../../man/bpcp.1", help)
}

// TestBadCommandLines checks that bad command lines copy nothing.
func TestBadCommandLines(t *testing.T) {
	t.Chdir(t.TempDir())
	long := strings.Repeat("x", 255)
	for args, want := range map[string]string{
		"":                   "no source and no target given; --help says how",
		"x":                  "no target given; --help says how",
		"x up:/tmp":          `up:/tmp: no node is meant by "up"`,
		"up:x y":             `up:x: no node is meant by "up"`,
		"x nowhere:":         "node nowhere: no such node, and no such state",
		"x 2-1:y":            "range 2-1 ends before it begins",
		"x :y":               ":y: no nodes are named before the colon (./:y is a file)",
		"a/x b/x y":          "a/x and b/x would both be copied to x",
		"0,1:" + long + " y": long + ".0: file name too long",
		"0:x x y":            "0:x and x would both be copied to x",
		"--what x y":         "there is no option --what; --help lists those that there are",
		"--version x y":      `operand "x" is one too many`,
		"x [fd00::1:/tmp y":  "node [fd00: no such node, and no such state",
	} {
		t.Run(args, func(t *testing.T) {
			code, out, bad := run(t, strings.Fields(args)...)
			if code != 2 || out != "" || !strings.Contains(bad, want) || strings.Count(bad, "\n") != 1 {
				t.Errorf("got %d, %q, %q, want 2 and %q", code, out, bad, want)
			}
			if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

// TestHere copies on the front end, without nodes.
func TestHere(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("x", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"x y", 0, ""},
		{"x ./0:z", 0, ""},
		{"x x", 1, "bpcp: x: is the same file as the original\n"},
		{"none x", 1, "bpcp: none: no such file or directory\n"},
		{". y", 1, "bpcp: .: is a directory (-r copies it)\n"},
		{"x none y", 1, "bpcp: y: not a directory\nbpcp: none: no such file or directory\n"},
		{"x nowhere/y", 1, "bpcp: nowhere/y: nowhere: no such file or directory\n"},
		{"x nowhere/", 1, "bpcp: nowhere/: no such directory\n"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			if code, out, bad := run(t, strings.Fields(tc.args)...); code != tc.code || out != "" || bad != tc.want {
				t.Errorf("got %d, %q, %q, want %d and %q", code, out, bad, tc.code, tc.want)
			}
		})
	}
	for _, name := range []string{"x", "y", "0:z"} {
		if text, err := os.ReadFile(name); err != nil || string(text) != "text" {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
}

// TestManyOperands copies as many files as a command line can name (execve(2)).
func TestManyOperands(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	first := filepath.Join(from, "file")
	if err := os.WriteFile(first, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{first}
	for i := range 60_000 {
		name := filepath.Join(from, fmt.Sprintf("%042d", i))
		if err := os.Link(first, name); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	if code, _, stderr := run(t, append(args, to)...); code != 0 {
		t.Errorf("exit code %d, %.200s", code, stderr)
	}
	if all, err := os.ReadDir(to); err != nil || len(all) != len(args) {
		t.Errorf("%d files were copied, of %d: %v", len(all), len(args), err)
	}
}
