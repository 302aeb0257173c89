package place_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bproc/internal/job/life"
	"bproc/internal/job/place"
)

func process(t *testing.T) place.Process {
	t.Helper()
	return place.Process{Job: place.Job{Root: t.TempDir(), Name: "web"}, Process: "server"}
}

func TestRecord(t *testing.T) {
	p := process(t)
	if r, err := p.Read(); err != nil || r.State != life.Created || r.Run != 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	lock, err := p.Supervise()
	if err != nil {
		t.Fatal(err)
	}
	want := place.Record{Record: life.Record{State: life.Running, Run: 3}, Node: 2, Placed: true, PID: 4711, Supervisor: 5}
	if err := p.Write(want); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Read(); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if b, err := os.ReadFile(p.PIDFile()); err != nil || string(b) != "4711" {
		t.Errorf("PID file: got %q, %v", b, err)
	}
	for _, how := range []string{"seen by its next supervisor", "without a supervisor"} {
		r, err := p.Former()
		if err != nil || r.State != life.Failed || r.PID != 0 || !r.Left || r.Reason == "" || r.Run != 3 {
			t.Errorf("%s: got %+v, %v", how, r, err)
		}
		lock.Close()
	}
	if r, err := p.Read(); err != nil || r.State != life.Failed {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestLock(t *testing.T) {
	p := process(t)
	lock, err := p.Supervise()
	if err != nil {
		t.Fatal(err)
	}
	if is, err := p.Supervised(); err != nil || !is {
		t.Errorf("got %v, %v", is, err)
	}
	next := make(chan *place.Lock)
	go func() {
		l, err := p.Supervise()
		if err != nil {
			t.Error(err)
		}
		next <- l
	}()
	select {
	case <-next:
		t.Fatal("two have the lock")
	default:
	}
	lock.Close()
	(<-next).Close()
	if is, err := p.Supervised(); err != nil || is {
		t.Errorf("got %v, %v", is, err)
	}
}

func TestOpenLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	for _, text := range []string{"one\n", "two\n"} {
		f, err := place.OpenLog(path, os.Getuid(), os.Getgid())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "one\ntwo\n" {
		t.Errorf("got %q, %v", b, err)
	}
	for name, lay := range map[string]func(string) error{
		"link":      func(p string) error { return os.Symlink(path, p) },
		"name":      func(p string) error { return os.Link(path, p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o755) },
		"other's": func(p string) error {
			if err := os.WriteFile(p, nil, 0o600); err != nil {
				return err
			}
			return os.Chown(p, 12345, -1)
		},
	} {
		p := filepath.Join(dir, name)
		if err := lay(p); err != nil {
			t.Fatal(err)
		}
		if f, err := place.OpenLog(p, os.Getuid(), os.Getgid()); err == nil {
			f.Close()
			t.Errorf("%s is opened", name)
		} else if !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
