package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"bproc/master/store"
)

// history is a sequence of changes, the same for the same seed, and the records after each.
type history struct {
	random *rand.Rand
	now    map[string]string
}

func newHistory(seed uint64) *history {
	return &history{rand.New(rand.NewPCG(seed, 0)), map[string]string{}}
}

// next makes up a change of the nodes.
func (h *history) next() map[string][]byte {
	records := map[string][]byte{}
	for range 1 + h.random.IntN(3) {
		name := fmt.Sprint(h.random.IntN(60))
		if h.random.IntN(4) == 0 {
			records[name] = nil
			delete(h.now, "nodes/"+name)
			continue
		}
		text := strings.Repeat(fmt.Sprint(h.random.IntN(1000)), h.random.IntN(100))
		records[name] = []byte(text)
		h.now["nodes/"+name] = text
	}
	return records
}

// writeForEver makes the changes of a history, and reports each.
func writeForEver(dir, seed string) error {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	s, err := store.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	h := newHistory(n)
	for {
		if err := s.Table(store.Nodes).Change(h.next()); err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString("\n"); err != nil {
			return err
		}
	}
}

// TestKilled kills a writer at any moment: each fourth from its start on, the others from their
// first change on, however late that is. All changes that it has reported must be there, and the
// change that it was making must be there as a whole or not at all.
func TestKilled(t *testing.T) {
	const seed = 20261121
	random := rand.New(rand.NewPCG(seed, 1))
	total := 0
	for n, begin := uint64(0), time.Now(); n < 4 || n < 60 && time.Since(begin) < 3*time.Second; n++ {
		dir := secretDir(t)
		cmd := role(t, "writer", dir, fmt.Sprint(seedVar, "=", seed+n))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(out)
		if early := n%4 == 3; !early {
			if _, err := reader.Peek(1); err != nil {
				t.Fatal(errors.Join(err, cmd.Wait()))
			}
		}
		time.AfterFunc(time.Duration(random.IntN(80_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		said, readErr := io.ReadAll(reader)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 || readErr != nil {
			t.Fatalf("the writer was not killed: %v", errors.Join(err, readErr))
		}
		total += len(said)
		h := newHistory(seed + n)
		for range said {
			h.next()
		}
		before := maps.Clone(h.now)
		h.next()
		s := open(t, dir)
		got, err := contents(s)
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, before) && !maps.Equal(got, h.now) {
			t.Fatalf("after %d changes of history %d: got %q, want %q or one more", len(said), seed+n, got, before)
		}
	}
	t.Logf("%d changes", total)
}
