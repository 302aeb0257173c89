package agent

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
)

// The stream passes through machines that may change it, and all agents can connect to each other.
// So the stream is sealed: it consists of parts, each signed by a key that only the sending agent
// has. A receiver uses a part only after it has verified that the part comes from the sender and
// follows the previous parts.
//
//	sealed = part* last
//	part   = length:4 signature:64 bytes     length is little-endian, 0 in the last part
//
// The signature covers the length and a hash of the bytes and all previous parts.
const (
	sealedPart = 256 << 10 // bytes
	sealHead   = 4 + ed25519.SignatureSize
)

// errSeal is the error of a stream that was changed on the way.
var errSeal = errors.New("the stream was changed on its way")

// NewSeal makes the keys of a copy: one for the sender, and one for all receivers.
func NewSeal() (sender, receiver []byte, err error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	return private.Seed(), public, err
}

// chain is the hash of all parts so far.
type chain [sha256.Size]byte

// next adds a part, and returns the bytes to be signed for it.
func (c *chain) next(part []byte) []byte {
	h := sha256.New()
	h.Write(c[:])
	h.Write(part)
	h.Sum(c[:0])
	return append(binary.LittleEndian.AppendUint32([]byte("bproc copy"), uint32(len(part))), c[:]...)
}

// sealer is a writer that seals its input. It must be closed.
type sealer struct {
	to   io.Writer
	key  ed25519.PrivateKey
	past chain
	part []byte // including its head
}

func newSealer(to io.Writer, seed []byte) (*sealer, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, errors.New("the key of the sender is none")
	}
	return &sealer{to: to, key: ed25519.NewKeyFromSeed(seed), part: make([]byte, sealHead, sealHead+sealedPart)}, nil
}

func (s *sealer) Write(b []byte) (int, error) {
	total := len(b)
	for len(b) > 0 {
		n := min(len(b), cap(s.part)-len(s.part))
		s.part = append(s.part, b[:n]...)
		b = b[n:]
		if len(s.part) == cap(s.part) {
			if err := s.send(); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

// send sends a part, which is the last if it is empty.
func (s *sealer) send() error {
	body := s.part[sealHead:]
	binary.LittleEndian.PutUint32(s.part, uint32(len(body)))
	copy(s.part[4:], ed25519.Sign(s.key, s.past.next(body)))
	_, err := s.to.Write(s.part)
	s.part = s.part[:sealHead]
	return err
}

// Close sends the rest and the last part.
func (s *sealer) Close() error {
	if len(s.part) > sealHead {
		if err := s.send(); err != nil {
			return err
		}
	}
	return s.send()
}

// opener is a reader of a sealed stream. It returns the bytes of a part after it has verified the
// seal.
type opener struct {
	from io.Reader
	key  ed25519.PublicKey
	past chain
	part []byte
	rest []byte // of part
	err  error
}

func newOpener(from io.Reader, key []byte) *opener {
	o := &opener{from: from, key: key}
	if len(key) != ed25519.PublicKeySize {
		o.err = errSeal
	}
	return o
}

func (o *opener) Read(b []byte) (int, error) {
	for len(o.rest) == 0 && o.err == nil {
		o.err = o.open()
	}
	if len(o.rest) == 0 {
		return 0, o.err
	}
	n := copy(b, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// open reads the next part. It returns io.EOF after the last part, if nothing follows.
func (o *opener) open() error {
	var head [sealHead]byte
	if err := o.full(head[:]); err != nil {
		return err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length > sealedPart {
		return errSeal
	}
	if o.part == nil {
		o.part = make([]byte, sealedPart)
	}
	part := o.part[:length]
	if err := o.full(part); err != nil {
		return err
	}
	if !ed25519.Verify(o.key, o.past.next(part), head[4:]) {
		return errSeal
	}
	if o.rest = part; length > 0 {
		return nil
	}
	if n, err := o.from.Read(head[:1]); n > 0 || !errors.Is(err, io.EOF) {
		return errBroken
	}
	return io.EOF
}

func (o *opener) full(b []byte) error {
	_, err := io.ReadFull(o.from, b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
