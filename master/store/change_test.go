package store_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"bproc/master/store"
)

// changed makes a store with changes in its file. It returns the file as it is while the store is
// open, and after each change its length and the records.
func changed(t *testing.T) (file []byte, ends []int, then []map[string]string) {
	t.Helper()
	dir := secretDir(t)
	s := open(t, dir)
	for i := range 5 {
		change(t, s.Table(store.Nodes), map[string][]byte{fmt.Sprint(i): bytes.Repeat([]byte{byte(i)}, 10*i), fmt.Sprint(i - 2): nil})
		data, err := os.ReadFile(filepath.Join(dir, store.File))
		if err != nil {
			t.Fatal(err)
		}
		all, err := contents(s)
		if err != nil {
			t.Fatal(err)
		}
		file, ends, then = data, append(ends, len(data)), append(then, all)
	}
	return file, ends, then
}

// TestUnfinishedChange cuts the file anywhere behind its tables, as a loss of power may. Each
// change must be there as a whole or not at all, and the next change is kept.
func TestUnfinishedChange(t *testing.T) {
	file, ends, then := changed(t)
	for end := ends[0]; end <= len(file); end++ {
		dir := secretDir(t)
		if err := os.WriteFile(filepath.Join(dir, store.File), file[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for i, at := range ends {
			if at <= end {
				want = maps.Clone(then[i])
			}
		}
		s := open(t, dir)
		wantContents(t, s, want)
		change(t, s.Table(store.Tokens), map[string][]byte{"next": []byte("change")})
		again, err := os.ReadFile(filepath.Join(dir, store.File)) // as after a kill
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, store.File), again, 0o600); err != nil {
			t.Fatal(err)
		}
		want["tokens/next"] = "change"
		s = open(t, dir)
		wantContents(t, s, want)
		if err := s.Close(); err != nil || t.Failed() {
			t.Fatalf("cut after %d bytes: %v", end, err)
		}
	}
}

// TestFlippedBitsOfChanges flips one bit of changes at a time: each time the file is refused.
func TestFlippedBitsOfChanges(t *testing.T) {
	file, ends, _ := changed(t)
	dir := secretDir(t)
	for at := ends[0]; at < len(file); at++ {
		bad := bytes.Clone(file)
		bad[at] ^= 1 << (at % 8)
		damage(t, dir, bad)
		if t.Failed() {
			t.Fatalf("with bit %d of byte %d flipped", at%8, at)
		}
	}
	for i := 0; i+2 < len(ends); i++ { // the loss of a change with others behind it is noticed, too
		damage(t, dir, slices.Concat(file[:ends[i]], file[ends[i+1]:]))
	}
}

// TestFirstFormat reads the file of an earlier master, and changes it.
func TestFirstFormat(t *testing.T) {
	body, err := msgpack.Marshal(map[string]map[string][]byte{store.Nodes: {"1": []byte("one"), "2": []byte("two")}})
	if err != nil {
		t.Fatal(err)
	}
	data := append([]byte("bproc-state 1\n"), body...)
	sum := sha256.Sum256(data)
	dir := secretDir(t)
	if err := os.WriteFile(filepath.Join(dir, store.File), append(data, sum[:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	wantContents(t, s, map[string]string{"nodes/1": "one", "nodes/2": "two"})
	change(t, s.Table(store.Nodes), map[string][]byte{"1": nil})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantContents(t, open(t, dir), map[string]string{"nodes/2": "two"})
}

// TestFileStaysShort checks that the file does not grow with the number of changes.
func TestFileStaysShort(t *testing.T) {
	dir := secretDir(t)
	s := open(t, dir)
	longest := int64(0)
	for i := range 1000 {
		change(t, s.Table(store.Nodes), map[string][]byte{fmt.Sprint(i % 7): bytes.Repeat([]byte{byte(i)}, 500)})
		info, err := os.Stat(filepath.Join(dir, store.File))
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, info.Size())
	}
	if longest > 100<<10 {
		t.Errorf("it was %d bytes long", longest)
	}
	all, err := s.Table(store.Nodes).All()
	if err != nil || len(all) != 7 {
		t.Errorf("got %d records, %v, want 7", len(all), err)
	}
}

// TestChangesAtOnce begins changes of one record in an order, and ends them in any: the last begun
// wins.
func TestChangesAtOnce(t *testing.T) {
	dir := secretDir(t)
	s := open(t, dir)
	var ends sync.WaitGroup
	const changes = 200
	for i := range changes {
		end := s.Table(store.Nodes).Begin(map[string][]byte{"one": fmt.Append(nil, i), fmt.Sprint(i): {}})
		ends.Go(func() {
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	}
	ends.Wait()
	for _, s := range []*store.Store{s, reopened(t, s, dir)} {
		all, err := s.Table(store.Nodes).All()
		if err != nil || len(all) != changes+1 || string(all["one"]) != fmt.Sprint(changes-1) {
			t.Errorf("got %d records, the last is %s, %v", len(all), all["one"], err)
		}
	}
}

// reopened opens a store as it would be after a kill.
func reopened(t *testing.T, s *store.Store, dir string) *store.Store {
	t.Helper()
	file := filepath.Join(dir, store.File)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := secretDir(t)
	if err := os.WriteFile(filepath.Join(other, store.File), data, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(other, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	return again
}
