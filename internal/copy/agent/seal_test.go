package agent

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"bproc/internal/copy/stream"
)

// sealed returns all parts of a sealed text.
func sealed(t *testing.T, sender []byte, text []byte) (parts [][]byte) {
	t.Helper()
	s, err := newSealer(writerFunc(func(b []byte) { parts = append(parts, bytes.Clone(b)) }), sender)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return parts
}

type writerFunc func(b []byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

func keys(t *testing.T) (sender, receiver []byte) {
	t.Helper()
	sender, receiver, err := NewSeal()
	if err != nil {
		t.Fatal(err)
	}
	return sender, receiver
}

// TestSeal lets machines change a stream on its way.
func TestSeal(t *testing.T) {
	sender, receiver := keys(t)
	other, _ := keys(t)
	text := bytes.Repeat([]byte("0123456789abcdef"), 3*sealedPart/16+1)
	parts := sealed(t, sender, text)
	if len(parts) != 5 {
		t.Fatalf("%d parts", len(parts))
	}
	replaced := func(i int, by []byte) [][]byte {
		all := slices.Clone(parts)
		all[i] = by
		return all
	}
	flipped := func(at int) []byte {
		part := bytes.Clone(parts[1])
		part[at] ^= 1
		return part
	}
	for name, tt := range map[string]struct {
		parts [][]byte
		gets  int // number of parts, at most
		want  error
	}{
		"unchanged":        {parts, 4, nil},
		"a byte":           {replaced(1, flipped(sealHead+5)), 1, errSeal},
		"a signature":      {replaced(1, flipped(10)), 1, errSeal},
		"shorter":          {replaced(1, flipped(0)), 1, errSeal},
		"left out":         {slices.Delete(slices.Clone(parts), 1, 2), 1, errSeal},
		"twice":            {slices.Insert(slices.Clone(parts), 1, parts[0]), 1, errSeal},
		"in another order": {[][]byte{parts[1], parts[0], parts[2], parts[3], parts[4]}, 0, errSeal},
		"no end":           {parts[:4], 4, io.ErrUnexpectedEOF},
		"an early end":     {[][]byte{parts[0], parts[4]}, 1, errSeal},
		"more":             {append(slices.Clone(parts), []byte("x")), 4, errBroken},
		"of another":       {sealed(t, other, text), 0, errSeal},
		"nothing":          {nil, 0, io.ErrUnexpectedEOF},
	} {
		got, err := io.ReadAll(newOpener(bytes.NewReader(bytes.Join(tt.parts, nil)), receiver))
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
		if !bytes.HasPrefix(text, got) || len(got) > min(tt.gets*sealedPart, len(text)) {
			t.Errorf("%s: got %d bytes", name, len(got))
		}
	}
}

// TestLiarOfTheCopy lets a machine with the certificate of the copy connect to another one, and
// pretend to be the machine that passes the stream on.
func TestLiarOfTheCopy(t *testing.T) {
	certificate, key, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	_, receiver := keys(t)
	own, _ := keys(t) // the liar's
	dir := t.TempDir()
	toAgent, input := io.Pipe()
	output, fromAgent := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- (&Agent{In: toAgent, Out: fromAgent}).Run(t.Context()) }()
	session := NewConn(output, input)
	say := func(m any) any {
		t.Helper()
		if err := session.Send(m); err != nil {
			t.Fatal(err)
		}
		answer, err := session.Receive()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	ready, ok := say(Setup{
		Version: Version, ID: 2, Certificate: certificate, Key: key, Receiver: receiver, Address: "127.0.0.1",
		Receive: &Receive{Path: Name(dir)},
	}).(Ready)
	if !ok || ready.Port == 0 {
		t.Fatalf("got %+v", ready)
	}
	config, err := configuration(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	liar, err := dial(t.Context(), config, 1, Peer{2, PeerAddress("127.0.0.1", ready.Port)})
	if err != nil {
		t.Fatal(err)
	}
	defer liar.abort()
	say(Connect{})
	var text bytes.Buffer
	w := stream.NewWriter(&text)
	for _, err := range []error{w.Entry(&stream.Entry{Name: "evil", Kind: stream.File, Size: 4}), w.Data(0, []byte("evil")), w.Close(4, true), w.End()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := liar.write(bytes.Join(sealed(t, own, text.Bytes()), nil), false); err != nil {
		t.Fatal(err)
	}
	go func() { _ = liar.finish() }() // it may be aborted
	if done, ok := say(Start{From: 1}).(Done); !ok || !done.Broken {
		t.Errorf("got %+v, want that it broke off", done)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if made, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(made) > 0 {
		t.Errorf("%v is there, %v", made, err)
	}
	input.Close()
}

// TestInletIsBounded lets a machine send more in messages than is acknowledged.
func TestInletIsBounded(t *testing.T) {
	taken := 0
	i := newInlet(NewConn(nil, writerFunc(func([]byte) { taken++ })), 1)
	i.put(make([]byte, window/2))
	i.put(make([]byte, window/2))
	if n, err := i.Read(make([]byte, 10)); n != 10 || err != nil || taken != 1 {
		t.Errorf("got %d, %v, %d messages", n, err, taken)
	}
	i.put(make([]byte, 11))
	if n, err := i.Read(make([]byte, 10)); !errors.Is(err, errBroken) || len(i.queue) > 0 {
		t.Errorf("got %d, %v, and %d wait", n, err, len(i.queue))
	}
}
