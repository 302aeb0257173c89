package link

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bproc/wire"
)

const (
	tokenPrefix = "bproc1-"
	secretSize  = 16
	maxTokens   = 1 << 16        // that are remembered
	tokenMemory = 24 * time.Hour // how long the store remembers that a token has expired
	maxTTL      = 365 * 24 * time.Hour
)

// token is what an administrator carries from the master to a new node.
type token struct {
	authority [sha256.Size]byte
	secret    [secretSize]byte
	expires   int64 // Unix time, for information: the master decides
}

// String returns the token as text, in characters that need no quoting.
func (t token) String() string {
	b := append(t.authority[:len(t.authority):len(t.authority)], t.secret[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(t.expires))
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(b)
}

func parseToken(s string) (t token, err error) {
	text, ok := bytes.CutPrefix([]byte(s), []byte(tokenPrefix))
	if !ok {
		return token{}, fmt.Errorf("a token starts with %s", tokenPrefix)
	}
	b := make([]byte, base64.RawURLEncoding.DecodedLen(len(text)))
	if _, err := base64.RawURLEncoding.Strict().Decode(b, text); err != nil {
		return token{}, fmt.Errorf("token is damaged: %w", err)
	}
	if len(b) != len(t.authority)+len(t.secret)+8 {
		return token{}, errors.New("token is not complete")
	}
	n := copy(t.authority[:], b)
	n += copy(t.secret[:], b[n:])
	t.expires = int64(binary.BigEndian.Uint64(b[n:]))
	return t, nil
}

// Reasons for refusing a token.
var (
	errTokenExpired = errors.New("token has expired")
	errTokenUsed    = errors.New("token was used already")
	errTokenRevoked = errors.New("token was revoked")
	errTokenUnknown = errors.New("token is not of this master")
)

var badToken = []error{errTokenExpired, errTokenUsed, errTokenRevoked, errTokenUnknown}

// Terms are the conditions of a token.
type Terms struct {
	Node  wire.NodeID // number of the node; negative: the next free one
	Name  string      // its name; empty: the slave's own
	Life  time.Duration
	Count int // number of machines that can join with it; 0: one
}

// NewToken makes a token, and returns it with its time of expiry.
func (a *Authority) NewToken(t Terms) (string, time.Time, error) {
	if t.Life <= 0 || t.Life > maxTTL {
		return "", time.Time{}, fmt.Errorf("new token: lifetime %v is not between 0 and %v", t.Life, maxTTL)
	}
	expires := time.Now().Add(t.Life).Truncate(time.Second)
	made := token{authority: fingerprint(a.cert), expires: expires.Unix()}
	_, _ = rand.Read(made.secret[:]) // cannot fail
	grant := grant{Node: t.Node, Name: t.Name, Expires: expires}
	if t.Count > 1 {
		grant.Count = t.Count
	}
	if err := a.tokens.add(made.secret[:], grant); err != nil {
		return "", time.Time{}, fmt.Errorf("new token: %w", err)
	}
	return made.String(), expires, nil
}

// grant is the record of a token.
type grant struct {
	Node    wire.NodeID
	Name    string
	Expires time.Time
	Used    bool `json:",omitempty"` // of a token for one machine
	Revoked bool `json:",omitempty"`

	// Of a token for several machines: how many, and which nodes have joined with it. Uses counts
	// these, and those that were joining when the master ended. A node that joins again does not
	// count.
	Count int           `json:",omitempty"`
	Uses  int           `json:",omitempty"`
	Nodes []wire.NodeID `json:",omitempty"`
}

// full reports whether no other machine can join.
func (g *grant) full() bool { return g.Used || g.Count > 0 && g.Uses >= g.Count }

// tokenStore stores tokens by the hash of their secrets. A change is on disk before the answer to
// its request is sent.
type tokenStore struct {
	kept Records

	mu     sync.Mutex
	grants map[string]grant
}

func (s *tokenStore) open(kept Records) error {
	records, err := kept.All()
	if err != nil {
		return err
	}
	s.kept, s.grants = kept, make(map[string]grant, len(records))
	for key, data := range records {
		var g grant
		if err := json.Unmarshal(data, &g); err != nil {
			return fmt.Errorf("token %s: %w", key, err)
		}
		s.grants[key] = g
	}
	return nil
}

func (s *tokenStore) add(secret []byte, g grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putLocked(hash(secret), g)
}

// take uses a token, or one of its uses. With a full token, nodes that have joined with it can join
// again; nothing is recorded then.
func (s *tokenStore) take(secret []byte) (grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.goodLocked(secret)
	if err != nil || g.full() {
		return g, err
	}
	now := g
	if now.Uses++; now.Count == 0 {
		now.Used, now.Uses = true, 0
	}
	return g, s.putLocked(hash(secret), now)
}

// joined records which node has joined with a token. former is the grant before the token was
// taken.
func (s *tokenStore) joined(secret []byte, former grant, node wire.NodeID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.grants[hash(secret)]
	if former.Count == 0 || former.full() {
		return nil
	}
	if slices.Contains(g.Nodes, node) {
		g.Uses--
	} else {
		g.Nodes = append(slices.Clip(g.Nodes), node)
	}
	return s.putLocked(hash(secret), g)
}

// check reports whether a token can be used now.
func (s *tokenStore) check(secret []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.goodLocked(secret)
	return err
}

func (s *tokenStore) goodLocked(secret []byte) (grant, error) {
	g, ok := s.grants[hash(secret)]
	switch {
	case !ok:
		return grant{}, errTokenUnknown
	case g.Revoked:
		return grant{}, errTokenRevoked
	case g.Used:
		return grant{}, errTokenUsed
	case !time.Now().Before(g.Expires):
		return grant{}, errTokenExpired
	}
	return g, nil
}

// giveBack undoes take. former is the grant before the token was taken.
func (s *tokenStore) giveBack(secret []byte, former grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.grants[hash(secret)]
	switch {
	case former.full():
		return nil
	case former.Count == 0:
		g.Used = false
	default:
		g.Uses--
	}
	return s.putLocked(hash(secret), g)
}

// putLocked changes a grant. Grants that expired long ago are removed.
func (s *tokenStore) putLocked(key string, g grant) error {
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	changes := map[string][]byte{}
	_, known := s.grants[key]
	forget := time.Now().Add(-tokenMemory)
	for old, g := range s.grants {
		if g.Expires.Before(forget) {
			changes[old] = nil
		}
	}
	if !known && len(s.grants)-len(changes) >= maxTokens {
		return fmt.Errorf("%d tokens are outstanding", len(s.grants))
	}
	changes[key] = data
	if err := s.kept.Change(changes); err != nil {
		return err
	}
	for old, data := range changes {
		if data == nil {
			delete(s.grants, old)
		}
	}
	s.grants[key] = g
	return nil
}

// hash returns the name of a secret in the store. The secret is random and long enough that a plain
// hash reveals nothing.
func hash(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])
}

// newID returns a random name of 128 bits.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // cannot fail
	return hex.EncodeToString(b[:])
}
