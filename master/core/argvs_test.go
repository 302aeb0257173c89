package core

import (
	"strings"
	"testing"

	"bproc/wire"
)

// TestArgvs has a node report more command lines than the keeper may be sent, which does not answer
// meanwhile, and then a usual one.
func TestArgvs(t *testing.T) {
	s := newScript(t)
	s.inputs("node 0", "up s0 0", "run 4711 0", "done GhostAdopt 4711", "events s0 Spawned 4711")
	sess := s.session("s0")
	sent, bare := 0, 0
	tell := func(argv ...string) {
		s.sent = nil
		s.fromNode(sess, 0, &wire.Events{First: sess.last + 1, Events: []wire.Event{{Kind: wire.EventExeced, PID: 4711, Argv: argv}}})
		for _, o := range s.sent {
			if o, ok := o.(ToKeeper); ok {
				m := o.Message.(*wire.GhostExec)
				frame, err := wire.Append(nil, o.Number, m)
				if err != nil {
					t.Fatal(err)
				}
				sent += len(frame)
				if len(m.Argv) == 1 {
					bare++
				}
			}
		}
	}
	long := strings.Repeat("x", wire.MaxCommand/4)
	for range 50 {
		tell("name", long, long, long)
	}
	for range 1000 {
		tell("name", long[:60<<10])
	}
	if sent > maxArgvs+1<<20 {
		t.Fatalf("%d bytes for the keeper of what one node says", sent)
	}
	if bare == 0 {
		t.Error("no ghost has a name alone: this shows nothing")
	}
	for len(s.asked) > 0 {
		s.answerNext(0)
	}
	bare = 0
	tell("name", long[:60<<10])
	if len(s.asked) != 1 || bare != 0 {
		t.Error("the room of what the keeper has done is not free again")
	}
	s.answerNext(0)
	if sess.argvs != 0 || s.core.argvs.all != 0 || sess.acks.certain() != sess.last {
		t.Errorf("%d, %d bytes wait for nothing; %d of %d events are certain", sess.argvs, s.core.argvs.all, sess.acks.certain(), sess.last)
	}
}

// TestCutArgv checks that command lines are kept as they are up to a bound.
func TestCutArgv(t *testing.T) {
	for _, tt := range []struct {
		argv []string
		most int
		want string
	}{
		{nil, 10, ""},
		{[]string{"sh", "-c", "true"}, 100, "sh -c true"},
		{[]string{"sh", "-c", "true"}, 11, "sh -c true"},
		{[]string{"sh", "-c", "true"}, 10, "sh -c tru"},
		{[]string{"sh", "-c", "true"}, 3, "sh"},
		{[]string{"sh"}, 0, ""},
	} {
		got := CutArgv(tt.argv, tt.most)
		if text := strings.Join(got, " "); text != tt.want || SizeOf(got) > tt.most {
			t.Errorf("%q cut to %d bytes: got %q, want %q", tt.argv, tt.most, text, tt.want)
		}
	}
}
