package bpjob_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"bproc/cmd/internal/bpjob"
	"bproc/internal/manpage"
)

const (
	good = "processes:\n- {name: server, executable: /bin/server}\n- {name: worker, executable: /bin/worker}\n"
	bad  = "processes:\n- name: server\n  executible: /bin/server\n  additional_volumes:\n  - path: /var/vcap/data/own\n"
)

func run(t *testing.T, stdin io.Reader, args ...string) (code int, out, bad string) {
	t.Helper()
	var stdout, stderr strings.Builder
	c := bpjob.Command{Stdin: stdin, Stdout: &stdout, Stderr: &stderr}
	code = c.Main(t.Context(), args)
	return code, stdout.String(), stderr.String()
}

// write writes the job files good.yml, bad.yml and big.yml to a temporary directory and changes to
// it.
func write(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"good.yml": good, "bad.yml": bad, "big.yml": strings.Repeat("#", 300_000)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheck(t *testing.T) {
	write(t)
	const problems = "bad.yml:2:3: processes[0]: the key executable is missing\n" +
		"bad.yml:3:3: processes[0].executible: unknown key; do you mean executable?\n"
	for _, tt := range []struct {
		args, stdin string
		code        int
		out, bad    string
	}{
		{"check good.yml", "", 0, "", ""},
		{"check -", good, 0, "", ""},
		{"check bad.yml", "", 1, "", problems},
		{"check bad.yml nowhere.yml good.yml .", "", 1, "", problems + "bpjob: open nowhere.yml: no such file or directory\nbpjob: read .: is a directory\n"},
		{"check --job own bad.yml", "", 1, "", problems + "bad.yml:5:11: processes[0].additional_volumes[0].path: \"/var/vcap/data/own\" is the job's own directory; see ephemeral_disk and persistent_disk\n"},
		{"check big.yml", "", 1, "", "big.yml:1:1: the file has more than 262144 bytes; make it smaller\n"},
		{"check -", "- x", 1, "", "-:1:1: the file must be a mapping, not a list\n"},
		{"check", "", 1, "", "bpjob: no file given\n"},
		{"stop -p ../../x web", "", 1, "", "bpjob: \"../../x\" cannot be the name of a process\n"},
		{"check --jsn x", "", 1, "", "bpjob: there is no option --jsn; --help lists those that there are\n"},
		{"", "", 1, "", "bpjob: no command given; see bpjob --help\n"},
		{"chek x", "", 1, "", "bpjob: there is no command \"chek\"; see bpjob --help\n"},
	} {
		code, out, bad := run(t, strings.NewReader(tt.stdin), strings.Fields(tt.args)...)
		if code != tt.code || out != tt.out || bad != tt.bad {
			t.Errorf("%s: got %d, %q, %q", tt.args, code, out, bad)
		}
	}
}

func TestJSON(t *testing.T) {
	write(t)
	code, out, bad := run(t, nil, "check", "--json", "good.yml", "bad.yml", "nowhere.yml")
	const want = `[
  {
    "file": "good.yml",
    "ok": true,
    "processes": [
      "server",
      "worker"
    ],
    "problems": []
  },
  {
    "file": "bad.yml",
    "ok": false,
    "processes": [],
    "problems": [
      {
        "line": 2,
        "column": 3,
        "key": "processes[0]",
        "text": "the key executable is missing"
      },
      {
        "line": 3,
        "column": 3,
        "key": "processes[0].executible",
        "text": "unknown key; do you mean executable?"
      }
    ]
  },
  {
    "file": "nowhere.yml",
    "ok": false,
    "processes": [],
    "problems": [],
    "error": "open nowhere.yml: no such file or directory"
  }
]
`
	if code != 1 || out != want || bad != "" {
		t.Errorf("got %d, %s, %q", code, out, bad)
	}
	if code, _, bad := run(t, nil, "check", "--json", "good.yml"); code != 0 || bad != "" {
		t.Errorf("got %d, %q", code, bad)
	}
}

func TestInputFails(t *testing.T) {
	code, _, bad := run(t, iotest.ErrReader(errors.New("broken")), "check", "-")
	if code != 1 || bad != "bpjob: read standard input: broken\n" {
		t.Errorf("got %d, %q", code, bad)
	}
}

func TestVersion(t *testing.T) {
	if code, out, _ := run(t, nil, "-v"); code != 0 || !strings.HasPrefix(out, "bpjob ") {
		t.Errorf("got %d, %q", code, out)
	}
}

func TestManPage(t *testing.T) {
	var helps []string
	for _, command := range []string{"", "start", "stop", "restart", "run", "list", "pid", "status", "logs", "shell", "trace", "check"} {
		_, help, _ := run(t, nil, strings.Fields(command+" --help")...)
		helps = append(helps, help)
	}
	manpage.CheckOptions(t, filepath.Join("..", "..", "..", "man", "bpjob.1"), helps...)
}
