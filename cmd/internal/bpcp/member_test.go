package bpcp

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"bproc/internal/copy/agent"
)

// TestStreamOfAnother lets a machine send parts of the stream unasked, as a mere receiver could.
// They must reach nobody.
func TestStreamOfAnother(t *testing.T) {
	for name, up := range map[string]bool{"one that passes it on": true, "another": false} {
		var says, hears bytes.Buffer
		c := agent.NewConn(nil, &says)
		for _, m := range []any{agent.Data{Bytes: []byte("x")}, agent.DataEnd{}} {
			if err := c.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		front, m := &member{conn: agent.NewConn(nil, &hears)}, &member{id: 1, conn: agent.NewConn(&says, nil)}
		m.up.Store(up)
		(&transfer{front: front, root: front}).listen(m)
		got, err := agent.NewConn(&hears, nil).Receive()
		if _, is := got.(agent.Data); is != up || !up && !errors.Is(err, io.EOF) {
			t.Errorf("%s: the front end hears %v, %v", name, got, err)
		}
	}
}
