package link_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"bproc/wire"
	"bproc/wire/link"
)

// hall is a table of nodes, by host name.
type hall struct {
	mu    sync.Mutex
	nodes []string
	keys  map[string]bool
}

func (h *hall) joined(j link.Joining) (wire.NodeID, wire.Block, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys[j.Key] = true
	at := slices.Index(h.nodes, j.Host)
	switch {
	case j.Again != nil && !slices.Contains(j.Again, wire.NodeID(at)):
		return 0, wire.Block{}, link.ErrNotAgain
	case j.Host == "unlucky":
		return 0, wire.Block{}, errors.New("the disk is full")
	case at < 0:
		at, h.nodes = len(h.nodes), append(h.nodes, j.Host)
	}
	return wire.NodeID(at), home, nil
}

func tryJoin(t *testing.T, m *master, token, host string) error {
	_, err := link.Join(t.Context(), m.addr(), token, filepath.Join(t.TempDir(), "id"), host)
	return err
}

// TestCount checks that as many machines join with a token as it says, each with its own identity,
// however many try at once, and with successive masters. A node that joins again does not count.
func TestCount(t *testing.T) {
	const count, tries = 5, 12
	var kept state
	h := &hall{keys: map[string]bool{}}
	config := func(c *link.ListenConfig) { c.Joined = h.joined }
	a := kept.open(t)
	first := newMasterOf(t, a, config)
	token, _, err := a.NewToken(link.Terms{Node: -1, Life: time.Hour, Count: count})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a", "unlucky", "a", "b"} {
		if err := tryJoin(t, first, token, host); (err != nil) != (host == "unlucky") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if all := a.Tokens(); len(all) != 1 || all[0].Uses != 2 || all[0].Count != count || !slices.Equal(all[0].Nodes, []wire.NodeID{0, 1}) {
		t.Errorf("got tokens %+v", all)
	}
	first.stop()

	a = kept.open(t)
	second := newMasterOf(t, a, config)
	errs := make(chan error)
	for i := range tries {
		go func() { errs <- tryJoin(t, second, token, fmt.Sprint("n", i)) }()
	}
	good := 0
	for range tries {
		switch err := <-errs; {
		case err == nil:
			good++
		case refusal(err) != "token was used already":
			t.Error(err)
		}
	}
	if good != count-2 {
		t.Errorf("%d more machines have joined, want %d", good, count-2)
	}
	if err := tryJoin(t, second, token, "b"); err != nil {
		t.Errorf("one that had joined: %v", err)
	}
	if want := 3 + good + 1; len(h.nodes) != count || len(h.keys) < want { // refused machines have identities, too
		t.Errorf("there are nodes %v with %d identities", h.nodes, len(h.keys))
	}
	id := a.Tokens()[0].ID
	if err := a.RevokeToken(id); err != nil {
		t.Fatal(err)
	}
	if err := tryJoin(t, second, token, "b"); refusal(err) != "token was revoked" || !errors.As(err, new(*link.TokenError)) {
		t.Errorf("with a token that is revoked: %v", err)
	}
	if err := a.RevokeToken(id); !errors.Is(err, link.ErrNoToken) || len(a.Tokens()) != 0 {
		t.Errorf("revoked twice: %v; there are %+v", err, a.Tokens())
	}
	if got := kept.open(t).Tokens(); len(got) != 0 {
		t.Errorf("after a restart there is %+v", got)
	}
}

// TestCountExpires checks that no machine can join with an expired token, whether it has joined
// before or not.
func TestCountExpires(t *testing.T) {
	h := &hall{keys: map[string]bool{}}
	m := newMaster(t, func(c *link.ListenConfig) { c.Joined = h.joined })
	token, _, err := m.authority.NewToken(link.Terms{Node: -1, Life: time.Nanosecond, Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := tryJoin(t, m, token, "a"); refusal(err) != "token has expired" {
		t.Errorf("got %v", err)
	}
	if got := m.authority.Tokens(); len(got) != 0 {
		t.Errorf("there is %+v", got)
	}
}
