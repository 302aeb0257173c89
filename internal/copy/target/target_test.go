package target_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
	"bproc/internal/copy/target"
)

// receive makes what a stream says in a directory, and returns the problems.
func receive(t testing.TB, dir string, from io.Reader) (problems []string, err error) {
	t.Helper()
	to, err := target.Open(target.Options{Path: dir, Preserve: true, Problem: func(path string, err error) {
		problems = append(problems, path+": "+err.Error())
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	err = to.Receive(stream.NewReader(from))
	return problems, err
}

// tree lists what is in a directory.
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

// place returns a directory to copy to, beside which there is a secret that must stay as it is.
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

// TestLinksLeadNowhere: what is below a symbolic link that the stream has made, or that was there,
// is not made.
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

// TestBrokenStream: where the stream breaks off, files are whole or not there, and nothing else is.
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

// TestReplaced: a file takes the place of another at once; a directory and a device stay.
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

// FuzzReceive: whatever a stream says, nothing outside of the directory changes, and nothing
// temporary is left.
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
		_, _ = receive(t, dir, bytes.NewReader(b)) // whatever the errors are
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
