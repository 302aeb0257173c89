package status_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/procfs/status"
	"bproc/wire"
)

// found is the result of a Fetch.
type found struct {
	data    []byte
	entries []wire.Entry
	errno   unix.Errno
}

func fetch(t *testing.T, c *status.Collector, f wire.Fetch) (all found) {
	t.Helper()
	last := false
	err := c.Fetch(&f, func(p *wire.Piece) error {
		if last {
			t.Errorf("%+v comes after the last piece", p)
		}
		if _, err := wire.Append(nil, 1, p); err != nil {
			t.Errorf("a piece is no message: %v", err)
		}
		all.data, all.entries = append(all.data, p.Data...), append(all.entries, p.Entries...)
		all.errno, last = unix.Errno(p.Errno), p.Last
		return nil
	})
	if err != nil || !last {
		t.Errorf("%+v: error %v, last %t", f, err, last)
	}
	return all
}

// TestFetchAsUser fetches files that the kernel shows only to some users.
func TestFetchAsUser(t *testing.T) {
	s := newSpace(t)
	c := s.collector()
	pid := s.start("SECRET=word setpriv --reuid 12345 --regid 12345 --clear-groups sleep 1000")
	until(t, c, c.View(true), "the program", texts(pid, func(t *wire.Texts) bool {
		return has("Name:\tsleep\n")(t) && has("State:\tS ")(t) // its name changes before its environment
	}))
	const root, owner, other = 0, 12345, 12346
	const file, link, list = wire.FetchFile, wire.FetchLink, wire.FetchList
	for _, tc := range []struct {
		kind wire.FetchKind
		path string
		uid  uint32
		want string // part of the result
		err  unix.Errno
	}{
		{file, "environ", root, "SECRET=word", 0},
		{file, "environ", owner, "SECRET=word", 0},
		{file, "environ", other, "", unix.EACCES},
		{file, "maps", owner, "[stack]", 0},
		{file, "maps", other, "", unix.EACCES},
		{file, "io", owner, "rchar", 0},
		{file, "io", other, "", unix.EACCES},
		{file, "limits", other, "Max open files", 0},
		{link, "exe", owner, "sleep", 0},
		{link, "exe", other, "", unix.EACCES},
		{list, "fd", owner, "0", 0},
		{list, "fd", other, "", unix.EACCES},
		{link, "fd/0", owner, "/", 0},
		{list, "task", other, pid.String(), 0},
		{file, fmt.Sprintf("task/%d/stat", pid), other, "(sleep)", 0},
		{link, "ns/net", root, "net:[", 0},
		{file, "nowhere", root, "", unix.ENOENT},
		{file, "mem", root, "", unix.ENOENT},
		{file, "fd/0", root, "", unix.ELOOP},
		{file, "cwd/etc/passwd", root, "", unix.ELOOP},
		{file, "root/etc/passwd", root, "", unix.ELOOP},
		{file, "../1/environ", root, "", unix.ENOENT},
		{file, "net/../environ", root, "", unix.ENOENT},
		{file, "fd", root, "", unix.EISDIR},
		{list, "stat", root, "", unix.ENOTDIR},
	} {
		got := fetch(t, c, wire.Fetch{PID: pid, Kind: tc.kind, Path: tc.path, UID: tc.uid, GID: tc.uid})
		text := string(got.data)
		for _, e := range got.entries {
			text += e.Name + "\n"
		}
		if got.errno != tc.err || !strings.Contains(text, tc.want) {
			t.Errorf("%s as %d: got %q, errno %d, want %q, errno %d", tc.path, tc.uid, text, got.errno, tc.want, tc.err)
		}
	}
}

// TestFetchOfNode fetches files of the node itself.
func TestFetchOfNode(t *testing.T) {
	s := newSpace(t)
	c := s.collector()
	for path, want := range map[string]string{"meminfo": "MemTotal:", "net/dev": "lo:", "version": "Linux", "pressure/cpu": "some"} {
		if got := fetch(t, c, wire.Fetch{Kind: wire.FetchFile, Path: path, UID: 12345}); !strings.Contains(string(got.data), want) {
			t.Errorf("%s: got %q, errno %v", path, got.data, got.errno)
		}
	}
	if got := fetch(t, c, wire.Fetch{Kind: wire.FetchList, Path: "net"}); !slices.ContainsFunc(got.entries, func(e wire.Entry) bool { return e.Name == "unix" && e.Type == unix.DT_REG }) {
		t.Errorf("net: got %v, errno %v", got.entries, got.errno)
	}
	for _, path := range []string{"kcore", "kmsg", "sysrq-trigger", "sys/kernel/pid_max", "1/environ", "self/environ"} {
		if got := fetch(t, c, wire.Fetch{Kind: wire.FetchFile, Path: path}); got.errno != unix.ENOENT {
			t.Errorf("%s: got %q, errno %v", path, got.data, got.errno)
		}
	}
}

// TestFetchIsOfOneProcess asks for a process with another start time.
func TestFetchIsOfOneProcess(t *testing.T) {
	s := newSpace(t)
	c := s.collector()
	pid := s.start("sleep 1000")
	var start uint64
	until(t, c, c.View(true), "the process", texts(pid, func(t *wire.Texts) bool { start = t.Start; return true }))
	for _, tc := range []struct {
		pid   wire.PID
		start uint64
		want  unix.Errno
	}{{pid, start, 0}, {pid, 0, 0}, {pid, start + 1, unix.ESRCH}, {pid + 1000, 0, unix.ENOENT}, {1, 0, unix.ENOENT}, {-1, 0, unix.ENOENT}} {
		if got := fetch(t, c, wire.Fetch{PID: tc.pid, Start: tc.start, Kind: wire.FetchFile, Path: "comm"}); got.errno != tc.want {
			t.Errorf("%d of %d: errno %d, want %d", tc.pid, tc.start, got.errno, tc.want)
		}
	}
}

// TestFetchIsBounded reads more than fits in a piece, and more than MaxFetch, from a directory in
// place of a procfs.
func TestFetchIsBounded(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "50/fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := bytes.Repeat([]byte("0123456789abcdef"), (wire.MaxFetch+1<<20)/16)
	if err := os.WriteFile(filepath.Join(dir, "50/smaps"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	const links = 1000
	for i := range links {
		if err := os.Symlink(strings.Repeat("t", 4000), filepath.Join(dir, "50/fd", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	s := newSpace(t)
	var err error
	if s.proc, err = os.Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.proc.Close() })
	c := s.collector()
	if got := fetch(t, c, wire.Fetch{PID: 50, Kind: wire.FetchFile, Path: "smaps"}); !bytes.Equal(got.data, text[:wire.MaxFetch]) {
		t.Errorf("got %d bytes, errno %v", len(got.data), got.errno)
	}
	got := fetch(t, c, wire.Fetch{PID: 50, Kind: wire.FetchList, Path: "fd"})
	if len(got.entries) != links || len(got.entries[0].Target) != 4000 {
		t.Errorf("got %d names, errno %v", len(got.entries), got.errno)
	}
}

// FuzzLocate checks that a file that is opened for any path is below a known name.
func FuzzLocate(f *testing.F) {
	for _, path := range []string{"stat", "task/5/stat", "net/dev", "../1/mem", "fd/../mem", "", "/", "task//mem", "meminfo"} {
		f.Add(int32(50), path)
		f.Add(int32(0), path)
	}
	f.Fuzz(func(t *testing.T, pid int32, path string) {
		dir, below, err := status.Locate(wire.PID(pid), path, true)
		if err != nil {
			return
		}
		names := strings.Split(below, "/")
		forbidden := []string{"", ".", "..", "mem", "pagemap", "kcore", "kmsg"}
		if below != path || slices.ContainsFunc(names[:1], func(n string) bool { return slices.Contains(forbidden, n) }) ||
			slices.ContainsFunc(names, func(n string) bool { return slices.Contains(forbidden[:3], n) }) {
			t.Errorf("%q is looked for as %q in %q", path, below, dir)
		}
		allowed := []string{fmt.Sprint(pid)}
		if pid == 0 {
			allowed = []string{".", "1"}
		}
		if !slices.Contains(allowed, dir) || pid < 0 || pid == 1 || dir == "1" && names[0] != "net" {
			t.Errorf("%q of %d is looked for in %q", path, pid, dir)
		}
	})
}
