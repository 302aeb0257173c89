package nodes

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"bproc/wire"
)

// TestUnknownSession checks that the members of a session are asked once in a round, and not once
// for each member, if none of them knows the terminal.
func TestUnknownSession(t *testing.T) {
	dir := t.TempDir()
	proc, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	s := &Source{front: &front{proc: proc}}
	sess := &session{members: map[wire.PID]*process{50: {}, 51: {}}}
	now := time.Now()
	if s.look(sess, now) || sess.known {
		t.Error("the terminal is known without a ghost")
	}
	if err := os.Mkdir(filepath.Join(dir, "51"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "51", "stat"), statText("51", "cat", "60", "34816", "300"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.look(sess, now) || sess.known {
		t.Error("all members are asked again")
	}
	if !s.look(sess, now.Add(interval)) || sess.at.tty != 34816 {
		t.Errorf("in the next round the terminal is %d", sess.at.tty)
	}
}

// TestBareSession gives a session a terminal, and then another one: without a terminal, it is not
// checked each time.
func TestBareSession(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "50"), 0o755); err != nil {
		t.Fatal(err)
	}
	proc, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	s := &Source{front: &front{proc: proc}}
	sess := &session{members: map[wire.PID]*process{50: {}}}
	begun := time.Now()
	for _, step := range []struct {
		after   time.Duration
		tty     string // of the ghost
		changed bool
		want    int64
	}{
		{0, "0", true, 0}, // nothing was known
		{time.Second, "34816", false, 0},
		{bareSession, "34816", true, 34816},
		{bareSession, "34817", true, 34817},
		{bareSession, "34817", false, 34817},
	} {
		if err := os.WriteFile(filepath.Join(dir, "50", "stat"), statText("50", "cat", "60", step.tty, "300"), 0o600); err != nil {
			t.Fatal(err)
		}
		if changed := s.look(sess, begun.Add(step.after)); changed != step.changed || sess.at.tty != step.want {
			t.Errorf("after %v: changed %v, terminal %d, want %v, %d", step.after, changed, sess.at.tty, step.changed, step.want)
		}
	}
}
