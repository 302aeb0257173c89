package master

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bproc/wire/link"
)

// TestTwins has slaves of one identity come while there is a session of it.
func TestTwins(t *testing.T) {
	var log bytes.Buffer
	first := &madeUpLink{up: true}
	n := &node{Key: "key"}
	core := newCore(slog.New(slog.NewTextHandler(&log, nil)), testLease, &nodeTable{byKey: map[string]*node{"key": n}}, nil, nil)
	now := time.Unix(1_000_000, 0)
	come := func(key string) error {
		return core.alone(&session{peer: link.Peer{Key: key}}, now)
	}
	check := func(when string, got, want error, lines int) {
		t.Helper()
		if !errors.Is(got, want) || strings.Count(log.String(), "\n") != lines {
			t.Errorf("%s: got %v, want %v, and %d lines of log:\n%s", when, got, want, lines, &log)
		}
	}
	check("an identity that nobody has", come("other"), nil, 0)
	check("the first", come("key"), nil, 0)
	n.sess = &session{link: first}
	check("a second", come("key"), errTwin, 1)
	check("at once again", come("key"), errTwin, 1)
	now = now.Add(twinNews)
	check("much later", come("key"), errTwin, 2)
	first.up = false
	check("when the first is cut", come("key"), nil, 2)
}
