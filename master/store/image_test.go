package store

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// FuzzReadImage reads files that are wrong in other ways than a flipped bit.
func FuzzReadImage(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "master")
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	s, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"1", "2", "3"} { // in trees of two levels
		if err := s.Table(Nodes).Change(map[string][]byte{name: bytes.Repeat([]byte(name), 2000)}); err != nil {
			f.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		f.Fatal(err)
	}
	tables, err := readImage(bytes.NewReader(good), int64(len(good)))
	if err != nil || len(tables[Nodes]) != 3 || checkSeal(tables) != nil {
		f.Fatalf("got %d nodes, %v, want 3", len(tables[Nodes]), err)
	}
	f.Add(uint16(0), []byte{})
	f.Add(uint16(8192+10), []byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, at uint16, patch []byte) {
		bad := bytes.Clone(good)
		copy(bad[int(at)%len(bad):], patch)
		tables, err := readImage(bytes.NewReader(bad), int64(len(bad)))
		if err == nil && checkSeal(tables) == nil && len(tables[Nodes]) != 3 {
			t.Errorf("got %d nodes, want 3", len(tables[Nodes]))
		}
	})
}
