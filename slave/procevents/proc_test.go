package procevents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bproc/slave/procevents"
	"bproc/wire"
)

func writeProc(t *testing.T, files map[string]string) procevents.Proc {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return procevents.Proc(dir)
}

func TestScan(t *testing.T) {
	const rest = " 0 -1 0 0 0 0 0 0 0 0 0 20 0 "
	proc := writeProc(t, map[string]string{
		"1/stat":    "1 (bpinit) S 0 1 1" + rest + "5 0\n",
		"20/stat":   "20 (odd) S 9 (name) R 1 20 1" + rest + "1 0\n",
		"21/stat":   "21 (dead) Z 20 20 1" + rest + "1 0\n",
		"22/stat":   "22 (leader is dead) Z 20 20 1" + rest + "3 0\n",
		"23/stat":   "garbage\n",
		"24/status": "no stat: it ended\n",
		"self/stat": "20 (odd) S 1 20 1" + rest + "1 0\n",
		"meminfo":   "",
	})
	got, err := proc.Scan()
	if err != nil {
		t.Fatal(err)
	}
	want := []procevents.ProcessInfo{
		{PID: 1, Parent: 0, PGID: 1, SID: 1},
		{PID: 20, Parent: 1, PGID: 20, SID: 1},
		{PID: 22, Parent: 20, PGID: 20, SID: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := (proc + "/nowhere").Scan(); err == nil {
		t.Error("a directory that is not there was scanned")
	}
}

func TestScanOfThisMachine(t *testing.T) {
	all, err := procevents.Proc("/proc").Scan()
	if err != nil {
		t.Fatal(err)
	}
	me := wire.PID(os.Getpid())
	i := slices.IndexFunc(all, func(p procevents.ProcessInfo) bool { return p.PID == me })
	if i < 0 || all[i].Parent != wire.PID(os.Getppid()) {
		t.Errorf("this process is not among %v with its parent", all)
	}
}

func TestArgv(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	proc := writeProc(t, map[string]string{
		"20/cmdline": "sh\x00-c\x00\x00echo hi\x00",
		"21/cmdline": "",
		"22/cmdline": long + "\x00",
	})
	if got, ok := proc.Argv(20); !ok || !slices.Equal(got, []string{"sh", "-c", "", "echo hi"}) {
		t.Errorf("got %q, %v", got, ok)
	}
	if got, ok := proc.Argv(21); ok {
		t.Errorf("got %q of a zombie", got)
	}
	if got, ok := proc.Argv(22); !ok || len(got) != 1 || len(got[0]) != 64<<10 {
		t.Errorf("got %d bytes, want 64 KiB", len(got[0]))
	}
	if _, ok := proc.Argv(23); ok {
		t.Error("a process that is not there has a command line")
	}
}
