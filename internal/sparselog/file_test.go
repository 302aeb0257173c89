package sparselog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileIsBounded writes many times the bound of a log. The newest records must stay, complete.
func TestFileIsBounded(t *testing.T) {
	for _, c := range []struct {
		name string
		mode int
	}{
		{"opened for reading, too", os.O_RDWR},
		{"opened by an older release", os.O_WRONLY},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			file, err := os.OpenFile(path, c.mode|os.O_CREATE|os.O_APPEND, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			const most, records = 1000, 5000
			f := NewFile(file)
			f.most = most
			for i := range records {
				record := fmt.Sprintf("record %d\n", i)
				if n, err := f.Write([]byte(record)); n != len(record) || err != nil {
					t.Fatalf("write: %d, %v", n, err)
				}
				if at, err := file.Stat(); err != nil || at.Size() > most {
					t.Fatalf("record %d: %d bytes, %v", i, at.Size(), err)
				}
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			for i, line := range lines {
				if want := fmt.Sprintf("record %d", records-len(lines)+i); line != want {
					t.Fatalf("line %d is %q, want %q", i, line, want)
				}
			}
			if c.mode == os.O_RDWR && len(lines) < most/2/len("record 1000\n")-1 {
				t.Errorf("%d records are left", len(lines))
			}
		})
	}
}

// TestNoFile checks that a pipe is written unbounded.
func TestNoFile(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f := NewFile(w)
	f.most = 1
	if _, err := f.Write([]byte("record\n")); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(r); err != nil || text.String() != "record\n" {
		t.Errorf("got %q, %v", text.String(), err)
	}
}
