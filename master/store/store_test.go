package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bproc/master/store"
	"bproc/test/limit"
)

func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a second Close does no harm
	return s
}

// secretDir returns a directory as the master makes one.
func secretDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "master")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func change(t testing.TB, table *store.Table, records map[string][]byte) {
	t.Helper()
	if err := table.Change(records); err != nil {
		t.Fatal(err)
	}
}

// contents returns all records of all tables, as "table/name".
func contents(s *store.Store) (map[string]string, error) {
	all := map[string]string{}
	for _, table := range []string{store.Authority, store.Tokens, store.Nodes} {
		records, err := s.Table(table).All()
		if err != nil {
			return nil, err
		}
		for name, record := range records {
			all[table+"/"+name] = string(record)
		}
	}
	return all, nil
}

func wantContents(t testing.TB, s *store.Store, want map[string]string) {
	t.Helper()
	got, err := contents(s)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestChangesSurvive(t *testing.T) {
	dir := secretDir(t)
	s := open(t, dir)
	wantContents(t, s, map[string]string{})
	change(t, s.Table(store.Nodes), map[string][]byte{"1": []byte("one"), "2": []byte("two"), "3": {}})
	change(t, s.Table(store.Nodes), map[string][]byte{"1": nil, "2": []byte("zwei"), "4": nil})
	change(t, s.Table(store.Authority), map[string][]byte{"1": []byte("key")})
	if err := s.Table(store.Nodes).Change(map[string][]byte{"5": []byte("five"), "": []byte("no name")}); err == nil {
		t.Error("a record without a name was put in")
	}
	want := map[string]string{"nodes/2": "zwei", "nodes/3": "", "authority/1": "key"}
	wantContents(t, s, want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantContents(t, open(t, dir), want)
}

// TestCloseWrites checks that a change that was begun is written even if nobody waits for it.
func TestCloseWrites(t *testing.T) {
	dir := secretDir(t)
	s := open(t, dir)
	s.Table(store.Nodes).Begin(map[string][]byte{"1": []byte("one")})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantContents(t, open(t, dir), map[string]string{"nodes/1": "one"})
}

// TestManyRecords puts many records in and removes most of them, in four lives of a master.
func TestManyRecords(t *testing.T) {
	dir := secretDir(t)
	want := map[string]string{}
	for round := range 4 {
		s := open(t, dir)
		put := map[string][]byte{}
		for i := range 300 {
			name := fmt.Sprint((i * 7919) % 1000)
			if round == 3 && i > 10 {
				put[name] = nil
				delete(want, "nodes/"+name)
				continue
			}
			record := fmt.Sprintf("round %d %s", round, strings.Repeat(name, i))
			put[name], want["nodes/"+name] = []byte(record), record
		}
		change(t, s.Table(store.Nodes), put)
		wantContents(t, s, want)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again := open(t, dir)
		wantContents(t, again, want)
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNobodyElseReads(t *testing.T) {
	dir := secretDir(t)
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, store.File)); err != nil || info.Mode() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
	if err := os.Chmod(dir, 0o710); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), dir+" has mode 0710") {
		t.Errorf("others may enter the directory: got %v", err)
	}
}

func TestSecondMaster(t *testing.T) {
	dir := secretDir(t)
	s := open(t, dir)
	start := time.Now()
	_, err := store.Open(dir, slog.New(slog.DiscardHandler))
	if want := "another master has the state in " + dir; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if took := time.Since(start); took > limit.Scaled(5*time.Second) {
		t.Errorf("a second master learns it after %v", took)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir).Close(); err != nil {
		t.Error(err)
	}
}

// TestLeftovers removes the half file of a master that was killed in a change.
func TestLeftovers(t *testing.T) {
	dir := secretDir(t)
	left := filepath.Join(dir, store.File+".new")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that it is gone", err)
	}
}

// BenchmarkChange changes one node of many.
func BenchmarkChange(b *testing.B) {
	for _, nodes := range []int{100, 4000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			s := open(b, secretDir(b))
			records := map[string][]byte{}
			for i := range nodes {
				records[fmt.Sprint(i)] = make([]byte, 200)
			}
			change(b, s.Table(store.Nodes), records)
			for b.Loop() {
				change(b, s.Table(store.Nodes), map[string][]byte{"7": make([]byte, 200)})
			}
		})
	}
}
