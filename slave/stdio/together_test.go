package stdio

import (
	"bytes"
	"testing"
	"time"

	"bproc/internal/widepipe"
	"bproc/test/limit"
	"bproc/wire"
)

// together is a connection that writes frames together.
type together struct {
	*client
	added   [][]byte
	flushed chan [][]byte
}

func (c *together) Add(frame []byte) error {
	c.added = append(c.added, bytes.Clone(frame))
	return nil
}

func (c *together) Flush() error {
	if c.added != nil {
		c.flushed <- c.added
	}
	c.added = nil
	return nil
}

// TestMuchTogether has a process write as much as is worth sending at once, then little: the frames of
// what is there are written together, and little is not waited with.
func TestMuchTogether(t *testing.T) {
	d := enterWith(t, ways(t), 4711, 1, [3]wire.DescriptorMode{1: wire.DescriptorStream})
	widepipe.Widen(d.pipes.near[1])
	much := bytes.Repeat([]byte("much"), wire.AtOnce/4)
	if n, err := d.pipes.end[1].Write(much); err != nil {
		t.Fatalf("the pipe takes %d bytes: %v", n, err)
	}
	c := &together{client: newClient(), flushed: make(chan [][]byte, 10)}
	attach(t, d, [2]uint64{})
	attachBypass(t, d, c)
	d.Run()
	for _, want := range []struct {
		written []byte
		frames  int
	}{{much, wire.AtOnce / wire.MaxData}, {[]byte("little"), 1}} {
		if want.frames == 1 {
			if _, err := d.pipes.end[1].Write(want.written); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case frames := <-c.flushed:
			var got []byte
			for _, f := range frames {
				got = append(got, f[wire.HeaderSize:]...)
			}
			if len(frames) != want.frames || !bytes.Equal(got, want.written) {
				t.Errorf("%d frames with %d bytes are written together, want %d with %d", len(frames), len(got), want.frames, len(want.written))
			}
		case <-time.After(limit.Scaled(time.Minute)):
			t.Fatal("nothing is written")
		}
	}
}
