package store_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bproc/master/store"
)

// sample makes a store and returns its directory.
func sample(t testing.TB) (dir string) {
	t.Helper()
	dir = secretDir(t)
	s := open(t, dir)
	change(t, s.Table(store.Authority), map[string][]byte{"pem": bytes.Repeat([]byte("key"), 300)})
	nodes := map[string][]byte{}
	for k := range 50 {
		nodes[fmt.Sprint("node", k)] = fmt.Appendf(nil, "node %d", k)
	}
	change(t, s.Table(store.Nodes), nodes)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// refused fails the test unless the error says clearly that the store is damaged.
func refused(t testing.TB, dir string, err error) {
	t.Helper()
	damaged := (*store.DamagedError)(nil)
	if !errors.As(err, &damaged) {
		t.Fatalf("got %v, want a damaged store", err)
	}
	for _, text := range []string{filepath.Join(dir, store.File) + " is damaged", "restore it from a backup", "join anew"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want that it says %q", err, text)
		}
	}
}

// TestFlippedBits flips one bit at a time.
func TestFlippedBits(t *testing.T) {
	dir := sample(t)
	file := filepath.Join(dir, store.File)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 1 << (at % 8)
		damage(t, dir, bad)
		if t.Failed() {
			t.Fatalf("with bit %d of byte %d flipped", at%8, at)
		}
	}
}

// damage writes a file, and fails the test unless it is refused and left as it is.
func damage(t *testing.T, dir string, bad []byte) {
	t.Helper()
	file := filepath.Join(dir, store.File)
	if err := os.WriteFile(file, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(dir, slog.New(slog.DiscardHandler))
	refused(t, dir, err)
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, bad) {
		t.Errorf("the refused file was changed: %v", err)
	}
}

func TestOtherDamage(t *testing.T) {
	dir := sample(t)
	good, err := os.ReadFile(filepath.Join(dir, store.File))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"empty", nil},
		{"a few bytes", good[:20]},
		{"half", good[:len(good)/2]},
		{"without the last byte", good[:len(good)-1]},
		{"twice", append(bytes.Clone(good), good...)},
		{"zeros", make([]byte, len(good))},
		{"text", bytes.Repeat([]byte("node\n"), 10000)},
	} {
		t.Run(tt.name, func(t *testing.T) { damage(t, dir, tt.data) })
	}
}

// TestOtherVersion checks that the file of a later master does not count as damaged.
func TestOtherVersion(t *testing.T) {
	dir := sample(t)
	data := []byte("bproc-state 3\nwhatever a later one has")
	sum := sha256.Sum256(data)
	if err := os.WriteFile(filepath.Join(dir, store.File), append(data, sum[:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(dir, slog.New(slog.DiscardHandler))
	if err == nil || errors.As(err, new(*store.DamagedError)) || !strings.Contains(err.Error(), "another format") {
		t.Errorf("got %v, want the format", err)
	}
}

// TestEarlierVersion checks that the state of an earlier master is not ignored.
func TestEarlierVersion(t *testing.T) {
	dir := secretDir(t)
	if err := os.WriteFile(filepath.Join(dir, "state.db"), []byte("nodes"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(dir, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "state.db is of an earlier version") {
		t.Errorf("got %v, want that it is of an earlier version", err)
	}
}
