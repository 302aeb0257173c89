package agent

import (
	"bytes"
	"crypto/rand"
	"io"
	"testing"
)

// pair returns the two ends of a connection between agents 1 and 2.
func pair(t *testing.T) (from, to *link) {
	t.Helper()
	certificate, key, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	config, err := configuration(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := listen(config, 2, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	go l.run(t.Context())
	t.Cleanup(l.stop)
	if from, err = dial(t.Context(), config, 1, Peer{2, PeerAddress("127.0.0.1", l.port())}); err != nil {
		t.Fatal(err)
	}
	if to, err = l.take(1); err != nil {
		t.Fatal(err)
	}
	return from, to
}

func TestLinkCarriesAll(t *testing.T) {
	from, to := pair(t)
	sent := make([]byte, 3<<20)
	_, _ = rand.Read(sent)
	done := make(chan error, 1)
	go func() {
		err := from.write(sent, true)
		if err == nil {
			err = from.finish()
		}
		done <- err
	}()
	got, err := io.ReadAll(to)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("got %d bytes and %v, want %d", len(got), err, len(sent))
	}
	to.close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestLinkThatIsNotWhole(t *testing.T) {
	from, to := pair(t)
	if err := from.write(make([]byte, 100), false); err != nil {
		t.Fatal(err)
	}
	from.abort()
	if got, err := io.ReadAll(to); err == nil {
		t.Errorf("got %d bytes and no error", len(got))
	}
	to.abort()
}
