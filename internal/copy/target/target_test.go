package target_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
	"bproc/internal/copy/target"
)

// receive makes the files of a stream in a directory, and returns the problems.
func receive(t testing.TB, dir string, from io.Reader) (problems []string, err error) {
	t.Helper()
	return receiveAs(t, target.Options{Path: dir, Preserve: true, Recursive: true}, from)
}

func receiveAs(t testing.TB, o target.Options, from io.Reader) (problems []string, err error) {
	t.Helper()
	o.Problem = func(path string, err error) { problems = append(problems, path+": "+err.Error()) }
	to, err := target.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	err = to.Receive(stream.NewReader(from))
	return problems, err
}

// tree lists the contents of a directory.
func tree(t testing.TB, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir {
			list = append(list, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// place returns a directory to copy to. Next to it is a secret that must not change.
func place(t testing.TB) (dir string, untouched func()) {
	t.Helper()
	top := t.TempDir()
	dir, secret := filepath.Join(top, "dir"), filepath.Join(top, "outside")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Mkdir(secret, 0o755), os.WriteFile(filepath.Join(secret, "file"), []byte("secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir, func() {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(secret, "file"))
		if err != nil || string(text) != "secret" {
			t.Errorf("the file outside: %q, %v", text, err)
		}
		if got := tree(t, top); !slices.Contains(got, "outside/file") || len(tree(t, secret)) != 1 {
			t.Errorf("got %q", got)
		}
		info, err := os.Stat(filepath.Join(secret, "file"))
		if st := info.Sys().(*syscall.Stat_t); err != nil || st.Nlink != 1 || info.Mode().Perm() != 0o600 {
			t.Errorf("the file outside: %v, %v", info, err)
		}
	}
}

// TestLinksLeadNowhere checks that nothing is made below a symbolic link, whether the stream made
// it or it existed before.
func TestLinksLeadNowhere(t *testing.T) {
	for _, there := range []bool{false, true} {
		dir, untouched := place(t)
		var b bytes.Buffer
		w := stream.NewWriter(&b)
		link := stream.Entry{Name: "link", Kind: stream.Symlink, Target: "../outside", Mode: 0o777}
		if there {
			if err := os.Symlink(link.Target, filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
		} else {
			_ = w.Entry(&link)
		}
		_ = w.Entry(&stream.Entry{Name: "link", Kind: stream.Directory, Mode: 0o777})
		_ = w.Entry(&stream.Entry{Name: "file", Kind: stream.File, Mode: 0o666, Link: 1})
		_ = w.Data(0, []byte("hostile"))
		_ = w.Close(7, true)
		_ = w.Leave()
		_ = w.Entry(&stream.Entry{Name: "hard", Kind: stream.HardLink, Link: 1})
		_ = w.Entry(&stream.Entry{Name: "to-file", Kind: stream.Symlink, Target: "../outside/file"})
		_ = w.Entry(&stream.Entry{Name: "to-file", Kind: stream.File, Mode: 0o666})
		_ = w.Data(0, []byte("mine"))
		_ = w.Close(4, true)
		_ = w.End()
		problems, err := receive(t, dir, &b)
		if err != nil || len(problems) != 2 {
			t.Errorf("got %q, %v, want two problems", problems, err)
		}
		untouched()
		if text, err := os.ReadFile(filepath.Join(dir, "to-file")); err != nil || string(text) != "mine" {
			t.Errorf("the file in the place of a link: %q, %v", text, err)
		}
		if got := tree(t, dir); !slices.Equal(got, []string{"link", "to-file"}) {
			t.Errorf("got %q", got)
		}
	}
}

// TestNotAskedFor lets a machine send files with names and of kinds that were not requested.
func TestNotAskedFor(t *testing.T) {
	for _, tc := range []struct {
		recursive bool
		rename    string // of the only original
		there     []string
	}{
		{false, "", []string{"asked"}},
		{false, "/new", []string{"new"}},
		{true, "", []string{"asked", "dir", "dir/.bashrc"}},
	} {
		var b bytes.Buffer
		w := stream.NewWriter(&b)
		file := func(name string) {
			_ = w.Entry(&stream.Entry{Name: name, Kind: stream.File, Mode: 0o644})
			_ = w.Data(0, []byte(name))
			_ = w.Close(int64(len(name)), true)
		}
		file(".bashrc")
		file("asked")
		_ = w.Entry(&stream.Entry{Name: "dir", Kind: stream.Directory, Mode: 0o755})
		file(".bashrc")
		_ = w.Leave()
		_ = w.Entry(&stream.Entry{Name: ".", Kind: stream.Directory, Mode: 0o755})
		file(".profile")
		_ = w.Entry(&stream.Entry{Name: ".ssh", Kind: stream.Directory, Mode: 0o755})
		file("authorized_keys")
		_ = w.Leave()
		_ = w.Leave()
		if !tc.recursive {
			_ = w.Entry(&stream.Entry{Name: "asked", Kind: stream.Symlink, Target: ".."})
		}
		_ = w.End()
		dir := t.TempDir()
		o := target.Options{Path: dir + tc.rename, Recursive: tc.recursive, Names: []string{"asked", "dir"}}
		if tc.rename != "" {
			o.Names = o.Names[:1]
		}
		problems, err := receiveAs(t, o, &b)
		if err != nil || !slices.Contains(problems, dir+"/.bashrc: was sent, but not asked for") {
			t.Errorf("got %q, %v", problems, err)
		}
		if got := tree(t, dir); !slices.Equal(got, tc.there) {
			t.Errorf("got %q, want %q", got, tc.there)
		}
		if text, err := os.ReadFile(filepath.Join(dir, tc.there[0])); err != nil || string(text) != "asked" {
			t.Errorf("got %q, %v", text, err)
		}
	}
}

// TestReadOnly checks that the copy of a read-only file has its extended attributes, also if an
// ordinary user makes it.
func TestReadOnly(t *testing.T) {
	if os.Getuid() == 0 {
		dropped(t, "TestReadOnly")
		return
	}
	dir := t.TempDir()
	var b bytes.Buffer
	w := stream.NewWriter(&b)
	_ = w.Entry(&stream.Entry{
		Name: "file", Kind: stream.File, Mode: 0o444, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		Xattrs: []stream.Xattr{{Name: "user.x", Value: []byte("value")}},
	})
	_ = w.Close(0, true)
	_ = w.End()
	problems, err := receive(t, dir, &b)
	value := make([]byte, 16)
	n, xattrErr := unix.Getxattr(filepath.Join(dir, "file"), "user.x", value)
	if err != nil || len(problems) > 0 || xattrErr != nil || string(value[:n]) != "value" {
		t.Errorf("got %q, %v, and the attribute %q, %v", problems, err, value[:max(n, 0)], xattrErr)
	}
	if info, err := os.Stat(filepath.Join(dir, "file")); err != nil || info.Mode() != 0o444 {
		t.Errorf("got %v, %v", info, err)
	}
}

// dropped runs a test of this program again, as an ordinary user.
func dropped(t *testing.T, name string) {
	t.Helper()
	const nobody = 65534
	dir := t.TempDir()
	program := filepath.Join(dir, "test")
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(program, text, 0o755), os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+name+"$", "-test.v")
	cmd.Env, cmd.Dir = append(os.Environ(), "TMPDIR="+dir), dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+name)) {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}

// TestBrokenStream checks that after a broken stream, files are complete or missing, and nothing
// else is left.
func TestBrokenStream(t *testing.T) {
	var b bytes.Buffer
	w := stream.NewWriter(&b)
	for _, name := range []string{"one", "two", "three"} {
		_ = w.Entry(&stream.Entry{Name: name, Kind: stream.File, Mode: 0o644, Size: 6})
		_ = w.Data(0, []byte("ab"))
		_ = w.Data(4, []byte("ef"))
		_ = w.Close(6, name != "two")
	}
	_ = w.End()
	for n := range b.Len() {
		dir := t.TempDir()
		problems, err := receive(t, dir, bytes.NewReader(b.Bytes()[:n]))
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(problems) > 0 {
			t.Fatalf("%d bytes: got %q, %v", n, problems, err)
		}
		for _, name := range tree(t, dir) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || string(text) != "ab\x00\x00ef" || name == "two" {
				t.Errorf("%d bytes: %s: %q, %v", n, name, text, err)
			}
		}
	}
}

// TestReplaced checks that a file replaces another atomically, and that a directory and a device
// stay.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(path("file"), []byte("old"), 0o600), os.Link(path("file"), path("other")), os.Mkdir(path("dir"), 0o700), unix.Mkfifo(path("fifo"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := stream.NewWriter(&b)
	for _, name := range []string{"file", "dir", "fifo"} {
		_ = w.Entry(&stream.Entry{Name: name, Kind: stream.File, Mode: 0o640})
		_ = w.Data(0, []byte("new"))
		_ = w.Close(3, true)
	}
	_ = w.Entry(&stream.Entry{Name: "file", Kind: stream.Directory})
	_ = w.Leave()
	_ = w.Entry(&stream.Entry{Name: "gone", Kind: stream.HardLink, Link: 99})
	_ = w.End()
	problems, err := receive(t, dir, &b)
	if err != nil || len(problems) != 4 {
		t.Errorf("got %q, %v, want four problems", problems, err)
	}
	for name, want := range map[string]string{"file": "new", "other": "old"} {
		if text, err := os.ReadFile(path(name)); err != nil || string(text) != want {
			t.Errorf("%s: got %q, %v, want %s", name, text, err, want)
		}
	}
	if got := tree(t, dir); !slices.Equal(got, []string{"dir", "fifo", "file", "other"}) {
		t.Errorf("got %q", got)
	}
}

// TestLateTimes keeps times that do not fit into 64 bits of nanoseconds.
func TestLateTimes(t *testing.T) {
	dir := t.TempDir()
	want := time.Date(2300, 1, 2, 3, 4, 5, 600, time.UTC)
	var b bytes.Buffer
	w := stream.NewWriter(&b)
	_ = w.Entry(&stream.Entry{Name: "f", Kind: stream.File, Mode: 0o640, Atime: want, Mtime: want})
	_ = w.Close(0, true)
	_ = w.End()
	if problems, err := receive(t, dir, &b); err != nil || len(problems) > 0 {
		t.Errorf("got %q, %v", problems, err)
	}
	info, err := os.Stat(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.ModTime(); !got.Equal(want) {
		t.Errorf("got %v, want %v", got.UTC(), want)
	}
}

// TestXattrWithoutRoom copies files of which one has an attribute that no file system takes, or
// few.
func TestXattrWithoutRoom(t *testing.T) {
	for size, least := range map[int]int{60_000: 0, 70_000: 1} {
		dir := t.TempDir()
		var b bytes.Buffer
		w := stream.NewWriter(&b)
		for i, name := range []string{"1", "2", "3"} {
			e := &stream.Entry{Name: name, Kind: stream.File, Mode: 0o640}
			if i == 1 {
				e.Xattrs = []stream.Xattr{{Name: "user.big", Value: make([]byte, size)}}
			}
			_ = w.Entry(e)
			_ = w.Close(0, true)
		}
		_ = w.End()
		problems, err := receive(t, dir, &b)
		if err != nil || len(problems) < least || len(problems) > 1 {
			t.Errorf("%d bytes: got %q, %v", size, problems, err)
		}
		if got := tree(t, dir); !slices.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("%d bytes: got %q", size, got)
		}
	}
}

// TestLinksReplaced copies to the names of symbolic links.
func TestLinksReplaced(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	file, err := os.Create(path("file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := unix.Mkfifo(path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, to string
		kind     stream.Kind
		replaced bool
	}{
		{"file", "file", stream.File, true},
		{"directory", ".", stream.File, true},
		{"nothing", "none", stream.File, true},
		{"itself", "link", stream.File, true},
		{"device", "/dev/null", stream.File, false},
		{"device, by a link", "/dev/null", stream.Symlink, true},
		{"FIFO", "fifo", stream.File, false},
		{"FIFO, by a FIFO", "fifo", stream.FIFO, false},
		{"descriptor", fmt.Sprintf("/proc/self/fd/%d", file.Fd()), stream.File, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_ = os.Remove(path("link"))
			if err := os.Symlink(tt.to, path("link")); err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			w := stream.NewWriter(&b)
			e := &stream.Entry{Name: "link", Kind: tt.kind, Mode: 0o640}
			if tt.kind == stream.Symlink {
				e.Target = "other"
			}
			_ = w.Entry(e)
			if tt.kind == stream.File {
				_ = w.Close(0, true)
			}
			_ = w.End()
			problems, err := receiveAs(t, target.Options{Path: dir, Recursive: true}, &b)
			if err != nil || tt.replaced != (len(problems) == 0) {
				t.Errorf("got %q, %v", problems, err)
			}
			if to, _ := os.Readlink(path("link")); (to != tt.to) != tt.replaced {
				t.Errorf("the link leads to %q", to)
			}
		})
	}
}

// FuzzReceive checks that no stream changes anything outside of the directory, or leaves temporary
// files.
func FuzzReceive(f *testing.F) {
	var b bytes.Buffer
	w := stream.NewWriter(&b)
	for _, e := range []stream.Entry{
		{Name: "d", Kind: stream.Directory, Mode: 0o755},
		{Name: "s", Kind: stream.Symlink, Target: "../../outside"},
		{Name: "f", Kind: stream.File, Link: 1, Mode: 0o644},
	} {
		_ = w.Entry(&e)
	}
	_ = w.Data(0, []byte("data"))
	_ = w.Close(4, true)
	_ = w.Leave()
	_ = w.Entry(&stream.Entry{Name: "s", Kind: stream.Symlink, Target: "../outside"})
	_ = w.Entry(&stream.Entry{Name: "s", Kind: stream.Directory, Mode: 0o700})
	_ = w.Leave()
	_ = w.Entry(&stream.Entry{Name: "l", Kind: stream.HardLink, Link: 1})
	_ = w.End()
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		dir, untouched := place(t)
		_, _ = receive(t, dir, bytes.NewReader(b)) // errors do not matter
		untouched()
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o700) // so that it can be removed
			}
			if strings.HasPrefix(d.Name(), ".bpcp.") {
				t.Errorf("%s is left", d.Name())
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	})
}

// list returns an access control list (acl(5)) with a user, the rights of the group, and the mask.
func list(user, group, mask uint16) string {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, rights uint16
		id          uint32
	}{{1, 6, none}, {2, user, 1234}, {4, group, none}, {0x10, mask, none}, {0x20, 0, none}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.rights)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return string(b)
}

const (
	none        = ^uint32(0) // no user or group
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
)

func listOf(t *testing.T, name, which string) string {
	t.Helper()
	var b [1024]byte
	n, err := unix.Getxattr(name, which, b[:])
	if errors.Is(err, unix.ENODATA) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

// TestInheritedLists: copies with the attributes of originals without access control lists have none,
// also in a directory whose new files get one.
func TestInheritedLists(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Setxattr(dir, defaultList, []byte(list(7, 7, 7)), 0); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := stream.NewWriter(&b)
	_ = w.Entry(&stream.Entry{Name: "file", Kind: stream.File, Mode: 0o640})
	_ = w.Close(0, true)
	_ = w.Entry(&stream.Entry{Name: "dir", Kind: stream.Directory, Mode: 0o750})
	_ = w.Leave()
	_ = w.Entry(&stream.Entry{Name: "with", Kind: stream.File, Mode: 0o660, Xattrs: []stream.Xattr{{Name: accessList, Value: []byte(list(4, 0, 6))}}})
	_ = w.Close(0, true)
	_ = w.End()
	if problems, err := receive(t, dir, &b); err != nil || len(problems) != 0 {
		t.Fatalf("got %q, %v", problems, err)
	}
	for _, of := range []struct{ name, which, want string }{
		{"file", accessList, ""}, {"dir", accessList, ""}, {"dir", defaultList, ""}, {"with", accessList, list(4, 0, 6)},
	} {
		if got := listOf(t, filepath.Join(dir, of.name), of.which); got != of.want {
			t.Errorf("%s of %s is %x, want %x", of.which, of.name, got, of.want)
		}
	}
}

// TestListOfTheReplaced: a file that replaces another has the access control list of that, or none.
func TestListOfTheReplaced(t *testing.T) {
	for _, former := range []string{"", list(6, 0, 6)} {
		dir := t.TempDir()
		name := filepath.Join(dir, "file")
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if former != "" {
			if err := unix.Setxattr(name, accessList, []byte(former), 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Setxattr(dir, defaultList, []byte(list(7, 7, 7)), 0); err != nil {
			t.Fatal(err)
		}
		var before, after unix.Stat_t
		if err := unix.Stat(name, &before); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		w := stream.NewWriter(&b)
		_ = w.Entry(&stream.Entry{Name: "file", Kind: stream.File, Mode: 0o666})
		_ = w.Data(0, []byte("new"))
		_ = w.Close(3, true)
		_ = w.End()
		if problems, err := receiveAs(t, target.Options{Path: dir}, &b); err != nil || len(problems) != 0 {
			t.Fatalf("got %q, %v", problems, err)
		}
		if text, err := os.ReadFile(name); err != nil || string(text) != "new" {
			t.Errorf("got %q, %v", text, err)
		}
		if err := unix.Stat(name, &after); err != nil || after.Mode != before.Mode {
			t.Errorf("the mode is %o, was %o; %v", after.Mode, before.Mode, err)
		}
		if got := listOf(t, name, accessList); got != former {
			t.Errorf("the list is %x, was %x", got, former)
		}
	}
}

// TestDotsBehindALink: behind a symbolic link ".." is the parent of where the link leads.
func TestDotsBehindALink(t *testing.T) {
	top := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(top, "real/sub"), 0o755), os.Mkdir(filepath.Join(top, "here"), 0o755), os.Symlink("../real/sub", filepath.Join(top, "here/link"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"here/link/../file", "here/link/..//file", "real/file"} {
		var b bytes.Buffer
		w := stream.NewWriter(&b)
		_ = w.Entry(&stream.Entry{Name: "x", Kind: stream.File, Mode: 0o644})
		_ = w.Data(0, []byte(path))
		_ = w.Close(int64(len(path)), true)
		_ = w.End()
		if problems, err := receiveAs(t, target.Options{Path: top + "/" + path}, &b); err != nil || len(problems) != 0 {
			t.Errorf("%s: got %q, %v", path, problems, err)
		}
		if text, err := os.ReadFile(filepath.Join(top, "real/file")); err != nil || string(text) != path {
			t.Errorf("%s: got %q, %v", path, text, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(top, "here/file")); err == nil {
		t.Error("the file is beside the link")
	}
}
