package file_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"bproc/internal/job/file"
	"bproc/internal/job/life"
)

var update = flag.Bool("update", false, "rewrite testdata and the schema")

// files returns the job files of an archive.
func files(t testing.TB, path string) map[string][]byte {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".yml"); ok {
			all[name] = f.Data
		}
	}
	return all
}

// TestProblems compares all problems of files with testdata/bad.txtar.
func TestProblems(t *testing.T) {
	const path = "testdata/bad.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if !strings.HasSuffix(f.Name, ".yml") {
			continue
		}
		_, err := file.Read("f", f.Data, file.Options{Job: "own"})
		var e *file.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: got %v", f.Name, err)
		}
		got.Files = append(got.Files, f, txtar.File{Name: strings.TrimSuffix(f.Name, ".yml"), Data: []byte(err.Error() + "\n\n")})
		for i, p := range e.Problems {
			if i > 0 && p.Line < e.Problems[i-1].Line {
				t.Errorf("%s: not in order: %v", f.Name, e.Problems)
			}
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if g := txtar.Format(got); !bytes.Equal(g, want) {
		t.Errorf("got\n%s", g)
	}
}

func read(t *testing.T, name string) *file.Job {
	t.Helper()
	job, err := file.Read(name, files(t, "testdata/good.txtar")[name], file.Options{Job: "own"})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// plain returns the exported fields of a process, by way of JSON.
func plain(t *testing.T, p file.Process) (fields map[string]any) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func same(t *testing.T, got, want file.Process) {
	t.Helper()
	if g, w := plain(t, got), plain(t, want); !reflect.DeepEqual(g, w) {
		t.Errorf("got\n%v\nwant\n%v", g, w)
	}
}

func TestAllKeys(t *testing.T) {
	job := read(t, "full")
	if got := job.Nodes.String(); got != "random:1/tag:db&attr:mem>=64G" || !job.Autostart || len(job.Processes) != 2 {
		t.Fatalf("got %q, %d processes", got, len(job.Processes))
	}
	same(t, job.Processes[0], file.Process{
		Name: "server", Executable: "/var/vcap/packages/server/bin/server",
		Args:    []string{"--port", "2424", "--ratio", "0.5", "--verbose=true", "yes", "2001-01-01", "", "two words"},
		Env:     map[string]string{"FOO": "BAR", "NUMBER": "1", "EMPTY": "", "FLAG": "true"},
		Workdir: "/var/vcap/data/server", Hooks: file.Hooks{PreStart: "/var/vcap/jobs/server/bin/pre-start"},
		Capabilities:  []string{"NET_BIND_SERVICE", "SYS_TIME"},
		Limits:        file.Limits{Memory: 3 << 29, OpenFiles: 100, Processes: 10, CoreFileSize: 1 << 20},
		Logs:          file.Logs{MaxSize: 10 << 20, Keep: 3},
		EphemeralDisk: true, PersistentDisk: true,
		AdditionalVolumes: []file.Volume{
			{Path: "/var/vcap/data/certificates", Writable: true},
			{Path: "/var/vcap/store/shared/a", AllowExecutions: true, MountOnly: true, Shared: true},
		},
		Unsafe: file.Unsafe{Privileged: true, HostPIDNamespace: true, UnrestrictedVolumes: []file.Volume{
			{Path: "/dev/log*", Writable: true}, {Path: "/etc/[a-c]?", MountOnly: true},
		}},
		ShutdownSignal: file.INT, ShutdownTimeout: 90 * time.Second,
		Restart: life.Rule{When: life.OnFailure, Delay: 2 * time.Second, MaxDelay: 5 * time.Minute},
	})
	same(t, job.Processes[1], file.Process{
		Name: "worker", Executable: "worker", Logs: file.Logs{Keep: file.DefaultKeep},
		ShutdownSignal: file.TERM, ShutdownTimeout: 20 * time.Second, Restart: life.Rule{When: life.Always},
	})
}

// TestEmptyValues checks that a key without a value counts as absent.
func TestEmptyValues(t *testing.T) {
	for i, p := range read(t, "empty values").Processes {
		name := string(rune('a' + i))
		same(t, p, file.Process{
			Name: name, Executable: "/bin/" + name, Logs: file.Logs{Keep: file.DefaultKeep}, ShutdownSignal: file.TERM, ShutdownTimeout: 20 * time.Second, Restart: life.Rule{When: life.No},
		})
	}
}

func TestMerges(t *testing.T) {
	b := read(t, "merged").Processes[1]
	same(t, b, file.Process{
		Name: "b", Executable: "/bin/a", Args: []string{"/bin/a"},
		Env: map[string]string{"A": "1", "B": "3", "C": "5"}, Limits: file.Limits{Memory: 10 << 20, OpenFiles: 5},
		Logs:           file.Logs{Keep: file.DefaultKeep},
		ShutdownSignal: file.TERM, ShutdownTimeout: 20 * time.Second, Restart: life.Rule{When: life.No},
	})
}

func TestJSON(t *testing.T) {
	job := read(t, "json")
	if p := job.Processes[0]; p.Args[1] != "1" || p.ShutdownTimeout != 20500*time.Millisecond || job.Nodes.String() != "3" {
		t.Errorf("got %+v, nodes %v", p, job.Nodes)
	}
}

func TestSizes(t *testing.T) {
	for written, want := range map[string]uint64{
		"1B": 1, "1K": 1 << 10, "1kb": 1 << 10, "2KiB": 2 << 10, "256M": 256 << 20, "0.5g": 512 << 20, ".5 GB": 512 << 20, "1T": 1 << 40, "1p": 1 << 50, "1E": 1 << 60,
	} {
		job, err := file.Read("f", fmt.Appendf(nil, "processes: [{name: a, executable: x, limits: {memory: %s}}]", written), file.Options{})
		if err != nil || job.Processes[0].Limits.Memory != want {
			t.Errorf("%s: got %v, %v", written, job, err)
		}
	}
}

// only returns the only problem of a file.
func only(t *testing.T, text string) file.Problem {
	t.Helper()
	_, err := file.Read("f", []byte(text), file.Options{})
	var e *file.Error
	if !errors.As(err, &e) || len(e.Problems) != 1 {
		t.Fatalf("got %.1000v", err)
	}
	return e.Problems[0]
}

// TestBounds checks that expensive files are rejected quickly.
func TestBounds(t *testing.T) {
	const too = "the file has more than 10000 values, each alias counted as what it stands for; make it smaller"
	begin := time.Now()
	laughs := "processes:\n- &a {name: a, executable: x, args: &args [" + strings.Repeat("x,", 90) + "]}\n" + strings.Repeat("- *a\n", 9000)
	merges := "processes:\n- env: &a0 {A: b}\n"
	for i := range 30 {
		merges += fmt.Sprintf("- env: &a%d {<<: [*a%d, *a%d, *a%d]}\n", i+1, i, i, i)
	}
	var variables strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&variables, "v%d: 5, ", i)
	}
	for name, test := range map[string]struct {
		text, want string
	}{
		"size":           {strings.Repeat("#", file.MaxSize+1), "the file has more than 262144 bytes; make it smaller"},
		"values":         {"processes: [{name: a, executable: x, args: [" + strings.Repeat("x,", 10_001) + "]}]", too},
		"variables":      {"processes: [{name: a, executable: x, env: {" + strings.Repeat("a: b, ", 2) + "}}]", "the key is here twice, first in line 1"},
		"billion laughs": {laughs, too},
		"depth":          {strings.Repeat("[", 100_000), "this is not YAML, here or in the next lines: exceeded max depth of 10000"},
		"deep":           {"processes: []\nx: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "unknown key; the keys here are autostart, nodes and processes"},
		"UTF-16":         {"\xfe\xff\x00p", "the file is not text in UTF-8; remove the character here"},
		"not UTF-8":      {"processes: []\n# \xff", "the file is not text in UTF-8; remove the character here"},
		"long key":       {strings.Repeat("x", 500) + ": 5\nprocesses: []", "unknown key; the keys here are autostart, nodes and processes"},
		"last keys":      {"processes: [{args: [" + strings.Repeat("x,", 9990) + "], name: a, executable: x}, {shutdown_signal: TERM, ephemeral_disk: no, name: a, executable: x}]", too},
		"keys":           {"processes: [{name: a, executable: x, env: {" + variables.String() + "}}]", too},
		"control":        {"processes: \x01[]", "the file is not text in UTF-8; remove the character here"},
	} {
		if got := only(t, test.text).Text; got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	_, err := file.Read("f", []byte(merges), file.Options{})
	if err == nil || !strings.Contains(err.Error(), "mappings are merged more than 8 deep") && !strings.Contains(err.Error(), too) {
		t.Errorf("merges: got %.1000v", err)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestPosition(t *testing.T) {
	if p := only(t, "processes: []\n# x\xff"); p.Line != 2 || p.Column != 4 {
		t.Errorf("got %v", p)
	}
	if p := only(t, "processes: []\nnodes: 0-3\nnode: 5\n"); p.String() != "3:1: node: unknown key; do you mean nodes?" {
		t.Errorf("got %v", p)
	}
}

// TestOwnOfBproc checks that jobs have no name and no volume that would be bproc's own directories.
func TestOwnOfBproc(t *testing.T) {
	const text = "processes:\n- name: a\n  executable: a\n  additional_volumes: [{path: /r/data/.bproc%s}]\n"
	for _, tt := range []struct{ job, below, want string }{
		{"own", "", `"/r/data/.bproc" is bproc's own`},
		{"own", "/root", `"/r/data/.bproc/root" is bproc's own`},
		{"own", "2", ""},
		{"packages", "2", "no job can be called packages"},
	} {
		_, err := file.Read("f", fmt.Appendf(nil, text, tt.below), file.Options{Job: tt.job, Root: "/r"})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v", tt, err)
		}
	}
}
