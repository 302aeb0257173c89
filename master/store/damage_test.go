package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"bproc/master/store"
)

// sample makes a store with trees of several pages and with pages that are free
// again, and returns its directory and contents.
func sample(t testing.TB) (dir string, want map[string]string) {
	t.Helper()
	dir = secretDir(t)
	s := open(t, dir)
	change(t, s.Table(store.Authority), map[string][]byte{"pem": bytes.Repeat([]byte("key"), 300)})
	change(t, s.Table(store.Tokens), map[string][]byte{"a": []byte("token")})
	for i := range 5 {
		nodes := map[string][]byte{}
		for k := range 50 {
			nodes[fmt.Sprintf("node%d", k*5+i)] = fmt.Appendf(nil, "node %d of round %d", k, i)
		}
		change(t, s.Table(store.Nodes), nodes)
	}
	want, err := contents(s)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, want
}

// refused fails the test unless the error is a clear one, of a damaged store.
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

// TestFlippedBits flips one bit after the other. Either the store is refused, or it is
// as good as before: to read and, which takes its time, to write and read again.
func TestFlippedBits(t *testing.T) {
	dir, want := sample(t)
	file := filepath.Join(dir, store.File)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const stride = 61 // bytes; no divisor of a page's size
	tried := map[bool]int{}
	flip := func(at, bit int, write bool) {
		bad := bytes.Clone(good)
		bad[at] ^= 1 << bit
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(dir, slog.New(slog.DiscardHandler))
		tried[err == nil]++
		if err != nil {
			refused(t, dir, err)
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, bad) {
				t.Errorf("the refused file was changed: %v", err)
			}
		} else {
			stillGood(t, s, dir, want, write)
		}
		if t.Failed() {
			t.Fatalf("with bit %d of byte %d flipped", bit, at)
		}
	}
	for n := 0; n*stride < len(good); n++ {
		flip(n*stride, n%8, n%32 == 0)
	}
	for page := 0; page < len(good); page += 4096 {
		for n := range 16 { // kind, count and overflow of the page
			flip(page+8+n/2, n*5%8, true)
		}
	}
	t.Logf("%d refused, %d as good as before", tried[false], tried[true])
	if tried[true] == 0 || tried[false] == 0 {
		t.Error("one of the two ends of this test was not seen")
	}
}

// stillGood reads a store and perhaps changes it and opens it again.
func stillGood(t *testing.T, s *store.Store, dir string, want map[string]string, write bool) {
	t.Helper()
	wantContents(t, s, want)
	if write {
		want = maps.Clone(want)
		change(t, s.Table(store.Nodes), map[string][]byte{"node7": []byte("changed"), "node99": nil})
		want["nodes/node7"] = "changed"
		delete(want, "nodes/node99")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !write {
		return
	}
	s = open(t, dir)
	wantContents(t, s, want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOtherDamage(t *testing.T) {
	dir, _ := sample(t)
	file := filepath.Join(dir, store.File)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	swapped := bytes.Clone(good)
	copy(swapped[4*4096:], good[5*4096:6*4096])
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"empty", nil},
		{"a few bytes", good[:100]},
		{"one page", good[:4096]},
		{"meta pages alone", good[:8192]},
		{"half", good[:len(good)/8192*4096]},
		{"zeros", make([]byte, len(good))},
		{"text", bytes.Repeat([]byte("node\n"), 10000)},
		{"a page in another's place", swapped},
		{"without the first page", good[4096:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(file, tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := store.Open(dir, slog.New(slog.DiscardHandler))
			refused(t, dir, err)
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, tt.data) {
				t.Errorf("the refused file was changed: %v", err)
			}
		})
	}
}

// TestOtherHands changes a store with bbolt alone.
func TestOtherHands(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(*bbolt.Tx) error
	}{
		{"a record", "is damaged", func(tx *bbolt.Tx) error { return tx.Bucket([]byte("nodes")).Put([]byte("1"), nil) }},
		{"no seal", "is damaged", func(tx *bbolt.Tx) error { return tx.Bucket([]byte("store")).Delete([]byte("seal")) }},
		{"one table fewer", "is damaged", func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("tokens")) }},
		{"a table in a table", "is damaged", func(tx *bbolt.Tx) error {
			_, err := tx.Bucket([]byte("nodes")).CreateBucket([]byte("1"))
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, _ := sample(t)
			db, err := bbolt.Open(filepath.Join(dir, store.File), 0, &bbolt.Options{NoFreelistSync: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(tt.change), db.Close()); err != nil {
				t.Fatal(err)
			}
			_, err = store.Open(dir, slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestOtherVersion: what a later master has written is not damaged.
func TestOtherVersion(t *testing.T) {
	dir, _ := sample(t)
	s := open(t, dir)
	change(t, s.Table("store"), map[string][]byte{"format": []byte("2")})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(dir, slog.New(slog.DiscardHandler))
	if err == nil || errors.As(err, new(*store.DamagedError)) || !strings.Contains(err.Error(), `has format "2"`) {
		t.Errorf("got %v, want the format", err)
	}
}
