package nodes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/procfs"
	"bproc/wire"
)

// statText is a line of stat in the form in which a node tells it.
func statText(pid, name, parent, tty, start string) []byte {
	return fmt.Appendf(nil, "%s (%s) S %s 40 41 %s -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 %s 1000 50 18446744073709551615"+
		" 1 1 0 0 0 0 0 0 0 1 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid, name, parent, tty, start)
}

func statusText(parent string) []byte { return statusOf("50", parent) }

// statusOf is the status text of a thread of process 50.
func statusOf(tid, parent string) []byte {
	return []byte("Name:\tcat\nState:\tS (sleeping)\nTgid:\t50\nPid:\t" + tid + "\nPPid:\t" + parent + "\nTracerPid:\t0\n")
}

func told(parent string) *wire.Texts {
	return &wire.Texts{
		PID: 50, Start: 300, UID: 7, GID: 8,
		Stat: statText("50", "a) (b", parent, "0", "300"), Status: statusText(parent),
		Statm: []byte("1 2 3 4 0 5 0\n"), Cmdline: []byte("cat\x00-\x00"), Cgroup: []byte("0::/\n"),
	}
}

func TestTake(t *testing.T) {
	for _, tc := range []struct {
		name   string
		told   *wire.Texts
		front  wire.PID // parent on the front end
		to     place
		parent wire.PID // parent that take knows
		want   []byte   // stat
	}{
		{"as on the node", told("60"), 0, place{60, 0, -1}, 60, statText("50", "a) (b", "60", "0", "310")},
		{"child of init", told("1"), 70, place{70, 0, -1}, 70, statText("50", "a) (b", "70", "0", "310")},
		{"orphan", told("1"), 0, place{80, 0, -1}, 0, statText("50", "a) (b", "80", "0", "310")},
		{
			"with a terminal", told("60"), 0,
			place{60, 34816, 40},
			60,
			bytes.Replace(statText("50", "a) (b", "60", "34816", "310"), []byte("34816 -1 "), []byte("34816 40 "), 1),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.told.Parent = tc.front
			p, err := take(3, tc.told, nil, 10)
			if err != nil {
				t.Fatal(err)
			}
			if p.parent != tc.parent {
				t.Errorf("got parent %d, want %d", p.parent, tc.parent)
			}
			before := bytes.Clone(p.shown.Stat)
			stat := p.shown.Stat
			p.move(tc.to)
			if !bytes.Equal(stat, before) {
				t.Errorf("a text that was given away has changed to %q", stat)
			}
			status := fmt.Appendf(statusText(fmt.Sprint(tc.to.parent)), "BProcNode:\t3\n")
			if !bytes.Equal(p.shown.Stat, tc.want) || !bytes.Equal(p.shown.Status, status) {
				t.Errorf("got  %q, %q,\nwant %q, %q", p.shown.Stat, p.shown.Status, tc.want, status)
			}
			if p.move(tc.to) {
				t.Error("it has moved to where it was")
			}
			if p.shown.Node != 3 || p.shown.UID != 7 || p.shown.GID != 8 || !bytes.Equal(p.shown.Cgroup, tc.told.Cgroup) {
				t.Errorf("got %+v", p.shown)
			}
		})
	}
}

// TestTakeCgroup has a node omit a cgroup that has not changed.
func TestTakeCgroup(t *testing.T) {
	was, err := take(3, told("60"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		start uint64
		text  []byte
		want  string
	}{
		"not told":                 {300, nil, "0::/\n"},
		"told":                     {300, []byte("0::/x\n"), "0::/x\n"},
		"not told, of a later one": {301, nil, ""},
	} {
		texts := told("60")
		texts.Start, texts.Cgroup = tc.start, tc.text
		if p, err := take(3, texts, was, 0); err != nil || string(p.shown.Cgroup) != tc.want {
			t.Errorf("%s: got %+v, %v, want %q", name, p, err, tc.want)
		}
	}
}

func TestTakeThreads(t *testing.T) {
	first := told("60")
	thread := func(tid wire.PID, same bool) wire.ThreadTexts {
		th := wire.ThreadTexts{TID: tid, Same: same}
		if !same {
			th.Stat, th.Status = statText(tid.String(), "x", "60", "0", "300"), statusOf(tid.String(), "60")
		}
		return th
	}
	first.Threads = []wire.ThreadTexts{thread(50, false), thread(51, false)}
	was, err := take(3, first, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	was.move(place{90, 0, -1})
	next := told("60")
	next.Threads = []wire.ThreadTexts{thread(51, true), thread(52, false), {TID: 53}}
	p, err := take(3, next, was, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Texts that stay get the present place of the process.
	p.move(place{60, 0, -1})
	got := p.shown.Threads
	if len(got) != 3 || got[2].TID != 53 || got[2].Stat != nil {
		t.Fatalf("got %+v", got)
	}
	for i, tid := range []string{"51", "52"} {
		if want := statText(tid, "x", "60", "0", "300"); !bytes.Equal(got[i].Stat, want) || !strings.Contains(string(got[i].Status), "PPid:\t60\n") {
			t.Errorf("thread %s: got %q, %q", tid, got[i].Stat, got[i].Status)
		}
	}
}

// TestTakeRefuses has a node tell texts that no kernel writes.
func TestTakeRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*wire.Texts){
		"no stat":               func(t *wire.Texts) { t.Stat = nil },
		"another's stat":        func(t *wire.Texts) { t.Stat = statText("51", "x", "1", "0", "1") },
		"a word for a number":   func(t *wire.Texts) { t.Stat = statText("50", "x", "no", "0", "1") },
		"a long number":         func(t *wire.Texts) { t.Stat = statText("50", "x", "1", "0", strings.Repeat("1", 25)) },
		"few fields":            func(t *wire.Texts) { t.Stat = []byte("50 (x) S 1 2\n") },
		"many fields":           func(t *wire.Texts) { t.Stat = append(t.Stat[:len(t.Stat)-1], strings.Repeat(" 1", 60)+"\n"...) },
		"no end of the line":    func(t *wire.Texts) { t.Stat = t.Stat[:len(t.Stat)-1] },
		"control characters":    func(t *wire.Texts) { t.Stat = bytes.Replace(t.Stat, []byte(" 40 41 "), []byte(" 40\n41 "), 1) },
		"a negative size":       func(t *wire.Texts) { t.Stat = bytes.Replace(t.Stat, []byte(" 1000 50 "), []byte(" -1000 50 "), 1) },
		"a negative start":      func(t *wire.Texts) { t.Stat = statText("50", "x", "1", "0", "-1") },
		"a huge parent":         func(t *wire.Texts) { t.Stat = statText("50", "x", "4294967297", "0", "1") },
		"escapes in stat":       func(t *wire.Texts) { t.Stat = statText("50", "x", "1\x1b[2J", "0", "1") },
		"status without a name": func(t *wire.Texts) { t.Status = []byte("Name\n") },
		"NUL in the name":       func(t *wire.Texts) { t.Stat = statText("50", "x\x00", "1", "0", "1") },
		"a huge name":           func(t *wire.Texts) { t.Stat = statText("50", strings.Repeat("x", maxName+1), "1", "0", "1") },
		"another's status":      func(t *wire.Texts) { t.Status = bytes.ReplaceAll(t.Status, []byte("\t50\n"), []byte("\t51\n")) },
		"two numbers in status": func(t *wire.Texts) { t.Status = append(t.Status, "Tgid:\t51\n"...) },
		"no number in status":   func(t *wire.Texts) { t.Status = []byte("Name:\tcat\nPPid:\t1\n") },
		"another node's status": func(t *wire.Texts) { t.Status = append(t.Status, "BProcNode:\t7\n"...) },
		"NUL in status":         func(t *wire.Texts) { t.Status = []byte("Name:\t\x00\n") },
		"long status":           func(t *wire.Texts) { t.Status = append(bytes.Repeat([]byte("a:\n"), 30000), '\n') },
		"words in statm":        func(t *wire.Texts) { t.Statm = []byte("some\n") },
		"long cmdline":          func(t *wire.Texts) { t.Cmdline = make([]byte, wire.MaxText+1) },
		"a thread twice":        func(t *wire.Texts) { t.Threads = []wire.ThreadTexts{{TID: 51}, {TID: 51}} },
		"many threads": func(t *wire.Texts) {
			for tid := range wire.PID(wire.MaxThreads + 1) {
				t.Threads = append(t.Threads, wire.ThreadTexts{TID: tid + 1})
			}
		},
		"long texts of threads": func(t *wire.Texts) {
			for tid := range wire.PID(8) {
				text := append(statusOf(fmt.Sprint(tid+1), "1"), strings.Repeat("a:\n", 20000)...)
				t.Threads = append(t.Threads, wire.ThreadTexts{TID: tid + 1, Stat: statText(fmt.Sprint(tid+1), "x", "1", "0", "1"), Status: text})
			}
		},
		"no thread": func(t *wire.Texts) { t.Threads = []wire.ThreadTexts{{TID: -1}} },
		"another thread's status": func(t *wire.Texts) {
			t.Threads = []wire.ThreadTexts{{TID: 51, Stat: statText("51", "x", "1", "0", "1"), Status: statusOf("52", "1")}}
		},
		"thread without stat": func(t *wire.Texts) {
			t.Threads = []wire.ThreadTexts{{TID: 51, Stat: []byte("51"), Status: statusText("1")}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			texts := told("1")
			spoil(texts)
			if p, err := take(0, texts, nil, 0); !errors.Is(err, errForm) {
				t.Errorf("got %+v, error %v", p, err)
			}
		})
	}
}

// FuzzTake has a node tell arbitrary texts. ps(1) must be able to read those that are accepted.
func FuzzTake(f *testing.F) {
	good := told("1")
	f.Add(good.Stat, good.Status, good.Statm, good.Cmdline, int64(10))
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own, []byte("PPid:\n"), []byte{}, []byte{}, int64(-1<<62))
	f.Add(good.Stat, append([]byte("ATgid:\t1\n"), good.Status...), good.Statm, good.Cmdline, int64(10)) // one more line
	f.Fuzz(func(t *testing.T, stat, status, statm, cmdline []byte, shift int64) {
		p, err := take(1, &wire.Texts{PID: 50, Stat: stat, Status: status, Statm: statm, Cmdline: cmdline}, nil, shift)
		if err != nil {
			return
		}
		p.move(place{4000000, 34816, 12})
		line, err := parseStat(p.shown.Stat, 50)
		if err != nil {
			t.Fatalf("%q: %v", p.shown.Stat, err)
		}
		if bytes.IndexByte(p.shown.Stat, 0) >= 0 || bytes.Count(append([]byte("\n"), p.shown.Status...), []byte("\nTgid:\t")) > 1 {
			t.Errorf("got %q, %q", p.shown.Stat, p.shown.Status)
		}
		if line.number(procstat.Parent) != 4000000 || line.number(procstat.Start) < 0 {
			t.Errorf("got %q", p.shown.Stat)
		}
		if p.bare && (line.number(procstat.TTY) != 34816 || line.number(procstat.Foreground) != 12) {
			t.Errorf("got %q", p.shown.Stat)
		}
	})
}

func TestEntries(t *testing.T) {
	got := entries([]wire.Entry{
		{Name: "0", Type: unix.DT_LNK, Target: "pipe:[5]"},
		{Name: "task", Type: unix.DT_DIR},
		{Name: "maps", Type: unix.DT_REG},
		{Name: ""},
		{Name: ".."},
		{Name: "a/b"},
		{Name: "a\x00"},
		{Name: strings.Repeat("a", 300)},
		{Name: "1", Type: unix.DT_LNK, Target: "a\x00b"},
	})
	want := []procfs.Entry{
		{Name: "0", Type: os.ModeSymlink, Target: "pipe:[5]"},
		{Name: "task", Type: os.ModeDir},
		{Name: "maps"},
		{Name: "1", Type: os.ModeSymlink},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
