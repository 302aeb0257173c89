package nodes

import (
	"bytes"
	"testing"

	"bproc/wire"
)

func TestEnvironOf(t *testing.T) {
	long := bytes.Repeat([]byte("x"), wire.MaxEnviron+1)
	told := [][]byte{[]byte("A=B\x00"), {}, long}
	for _, tc := range []struct {
		name   string
		which  int32
		before string // environment told before
		start  uint64 // start of the process that it was told for
		want   string
		none   bool
	}{
		{name: "told", which: 1, want: "A=B\x00"},
		{name: "empty", which: 2},
		{name: "another than before", which: 1, before: "C=D\x00", start: 300, want: "A=B\x00"},
		{name: "as before", which: wire.EnvironAsBefore, before: "C=D\x00", start: 300, want: "C=D\x00"},
		{name: "as that of another process before", which: wire.EnvironAsBefore, before: "C=D\x00", start: 299, none: true},
		{name: "as before, but there was none", which: wire.EnvironAsBefore, none: true},
		{name: "not told any more", which: wire.EnvironNotTold, before: "C=D\x00", start: 300, none: true},
		{name: "too long", which: 3, none: true},
		{name: "beyond the message", which: 4, none: true},
		{name: "absurd", which: -2, before: "C=D\x00", start: 300, none: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := environs{}
			var was *process
			if tc.start != 0 {
				was = &process{start: tc.start, environ: all.use([]byte(tc.before))}
			}
			e := all.environOf(&wire.Texts{Start: 300, Environ: tc.which}, told, was)
			if tc.none != (e == nil) || e != nil && (string(e.text) != tc.want || e.text == nil) {
				t.Errorf("got %+v, want %q, none: %v", e, tc.want, tc.none)
			}
			if was != nil {
				all.leave(was.environ)
			}
			if all.leave(e); len(all) > 0 {
				t.Errorf("%d environments are kept that nobody has", len(all))
			}
		})
	}
}

// TestEnvironsAreShared checks that processes with equal environments share one copy.
func TestEnvironsAreShared(t *testing.T) {
	all := environs{}
	first := all.use([]byte("A=B\x00"))
	if second := all.use([]byte("A=B\x00")); second != first || len(all) != 1 {
		t.Errorf("got %p and %p, %d environments", first, second, len(all))
	}
	all.leave(first)
	if third := all.use([]byte("A=B\x00")); third != first {
		t.Error("an environment in use was given up")
	}
}
