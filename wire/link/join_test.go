package link_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/wire"
	"bproc/wire/link"
)

// home is the home of each node of the tests.
var home = wire.Block{First: 1 << 20, Count: 32768}

func TestJoin(t *testing.T) {
	type joined struct {
		key, host, name string
		node            wire.NodeID
	}
	var got []joined
	m := newMaster(t, func(c *link.ListenConfig) {
		c.Joined = func(j link.Joining) (wire.NodeID, wire.Block, error) {
			got = append(got, joined{j.Key, j.Host, j.Name, j.Node})
			if j.Host == "full" {
				return 0, wire.Block{}, errors.New("the node table is full")
			}
			return j.Node, home, nil
		}
	})
	dir := filepath.Join(t.TempDir(), "identity")
	if _, err := link.OpenIdentity(dir); !errors.Is(err, link.ErrNotJoined) {
		t.Errorf("before: got %v, want %v", err, link.ErrNotJoined)
	}
	token, expires, err := m.authority.NewToken(link.Terms{Node: 7, Name: "blue", Life: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(expires); left < 59*time.Minute || left > time.Hour {
		t.Errorf("the token expires at %v", expires)
	}
	// A token stays valid if the identity could not be kept, or the master could not use it.
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := link.Join(t.Context(), m.addr(), token, dir, "n7"); err == nil || !strings.Contains(err.Error(), "others may enter it") {
		t.Errorf("got %v", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := link.Join(t.Context(), m.addr(), token, dir, "full"); refusal(err) != "the node table is full" || errors.As(err, new(*link.TokenError)) {
		t.Errorf("got %v", err)
	}
	id, err := link.Join(t.Context(), m.addr(), token, dir, "n7")
	if err != nil {
		t.Fatal(err)
	}
	want := joined{id.Key(), "n7", "blue", 7}
	if len(got) != 2 || got[1] != want {
		t.Errorf("the master was told %+v, want %+v", got, want)
	}
	m.knows(t, dir, id.Key())
}

// knows fails the test unless dir has the identity of a key and the master accepts it.
func (m *master) knows(t *testing.T, dir, key string) {
	t.Helper()
	id, err := link.OpenIdentity(dir)
	if err != nil || id.Key() != key {
		t.Fatalf("got %v, want the identity %s", err, key)
	}
	if id.Home != home {
		t.Errorf("home is %v, want %v", id.Home, home)
	}
	slave, here := m.dial(id, m.addr())
	slave.Close(nil)
	here.Close(nil)
	if p := <-m.peers; p.Key != key || p.Host != "n1" || p.Arch != "amd64" || p.BootID != "b1" || p.Version != wire.Version || p.Addr == "" {
		t.Errorf("got peer %+v", p)
	}
}

func TestTokens(t *testing.T) {
	m := newMaster(t, nil)
	newToken := func(ttl time.Duration) string {
		token, _, err := m.authority.NewToken(link.Terms{Node: 1, Life: ttl})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	join := func(token string) error {
		_, err := link.Join(t.Context(), m.addr(), token, filepath.Join(t.TempDir(), "id"), "n1")
		return err
	}
	used := newToken(time.Minute)
	if err := join(used); err != nil {
		t.Fatal(err)
	}
	other := newMaster(t, nil)
	foreign, _, err := other.authority.NewToken(link.Terms{Node: 1, Life: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	good := newToken(time.Minute)
	for _, tt := range []struct {
		name, token, want string
		refused           bool // by the master
	}{
		{"used", used, "token was used already", true},
		{"expired", newToken(time.Nanosecond), "token has expired", true},
		{"of another master", foreign, "not the master that the token is of", false},
		{"empty", "", "starts with", false},
		{"cut", good[:len(good)-4], "not complete", false},
		{"damaged", good[:20] + "!" + good[21:], "damaged", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := join(tt.token)
			if err == nil || !strings.Contains(err.Error(), tt.want) || (refusal(err) != "") != tt.refused || !errors.As(err, new(*link.TokenError)) {
				t.Errorf("got %v, want %q, of the token", err, tt.want)
			}
		})
	}
	// The same authority has lost its tokens: right fingerprint, unknown secret.
	t.Run("forgotten", func(t *testing.T) {
		var kept state
		token, _, err := kept.open(t).NewToken(link.Terms{Node: 1, Life: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		kept.tokens = table{}
		second := newMasterOf(t, kept.open(t), nil)
		_, err = link.Join(t.Context(), second.addr(), token, filepath.Join(t.TempDir(), "id"), "n1")
		if got := refusal(err); got != "token is not of this master" {
			t.Errorf("got %v", err)
		}
	})
	// The master does not look at the rest of a request without a valid token.
	t.Run("and no request", func(t *testing.T) {
		err := link.AskToJoin(t.Context(), m.addr(), good, []byte("guessed"), []byte("no request"))
		if got := refusal(err); got != "token is not of this master" {
			t.Errorf("got %v", err)
		}
	})
	for _, ttl := range []time.Duration{0, -time.Second, 366 * 24 * time.Hour} {
		if _, _, err := m.authority.NewToken(link.Terms{Node: 1, Life: ttl}); err == nil {
			t.Errorf("a token with lifetime %v was made", ttl)
		}
	}
}

// TestOnlyOneUses checks that one of many slaves with the same token joins.
func TestOnlyOneUses(t *testing.T) {
	m := newMaster(t, nil)
	token, _, err := m.authority.NewToken(link.Terms{Node: 1, Life: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan error)
	const count = 8
	for range count {
		dir := filepath.Join(t.TempDir(), "id")
		go func() {
			_, err := link.Join(t.Context(), m.addr(), token, dir, "n1")
			results <- err
		}()
	}
	good := 0
	for range count {
		switch err := <-results; {
		case err == nil:
			good++
		case refusal(err) != "token was used already":
			t.Error(err)
		}
	}
	if good != 1 {
		t.Errorf("%d slaves have joined, want 1", good)
	}
}

// TestAuthorityStays checks that identities and tokens are still valid after a restart.
func TestAuthorityStays(t *testing.T) {
	var kept state
	a := kept.open(t)
	unused, _, err := a.NewToken(link.Terms{Node: 2, Life: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	first := newMasterOf(t, a, nil)
	id := first.identity()
	first.stop()

	second := newMasterOf(t, kept.open(t), nil)
	slave, here := second.pair(second.addr())
	at, from := streams(t, slave, here)
	exchange(t, at, from, "known")
	slave, here = second.dial(id, second.addr())
	slave.Close(nil)
	here.Close(nil)
	if _, err := link.Join(t.Context(), second.addr(), unused, filepath.Join(t.TempDir(), "id"), "n2"); err != nil {
		t.Error(err)
	}
}

// TestSecretsAreSecret checks that no other user can read a slave's identity, and that a master
// stores no secret of a token.
func TestSecretsAreSecret(t *testing.T) {
	var kept state
	a := kept.open(t)
	m := newMasterOf(t, a, nil)
	token := func() string {
		token, _, err := a.NewToken(link.Terms{Node: 1, Life: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	first := token()
	dir := filepath.Join(t.TempDir(), "identity")
	if _, err := link.Join(t.Context(), m.addr(), first, dir, "n1"); err != nil {
		t.Fatal(err)
	}
	for name, record := range kept.tokens.records {
		if strings.Contains(name+string(record), first[20:40]) {
			t.Errorf("the token is kept: %s %s", name, record)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("got %v, %v, want one file", files, err)
	}
	for path, want := range map[string]fs.FileMode{dir: fs.ModeDir | 0o700, filepath.Join(dir, "identity.pem"): 0o600} {
		if fi, err := os.Stat(path); err != nil || fi.Mode() != want {
			t.Errorf("%s: got %v, %v, want mode %v", path, fi.Mode(), err, want)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := link.Join(t.Context(), m.addr(), token(), dir, "n1"); err == nil || !strings.Contains(err.Error(), "others may enter it") {
		t.Errorf("an identity where others may enter: got %v", err)
	}
}

// TestDamaged checks that damaged records are not replaced.
func TestDamaged(t *testing.T) {
	var kept, other state
	a := kept.open(t)
	m := newMasterOf(t, a, nil)
	token, _, err := a.NewToken(link.Terms{Node: 1, Life: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "identity")
	if _, err := link.Join(t.Context(), m.addr(), token, dir, "n1"); err != nil {
		t.Fatal(err)
	}
	other.open(t)
	const record = "authority.pem"
	good, foreign := kept.secrets.records[record], other.secrets.records[record]
	cut := bytes.Index(good, []byte("-----BEGIN CERT"))
	file := filepath.Join(dir, "identity.pem")
	for name, data := range map[string][]byte{
		"empty":           {},
		"half":            good[:cut],
		"another's":       slices.Concat(good[:cut], foreign[cut:]),
		"the wrong order": slices.Concat(good[cut:], good[:cut]),
		"another kind":    bytes.ReplaceAll(good, []byte("PRIVATE"), []byte("PUBLIC")),
	} {
		secrets := table{records: map[string][]byte{record: data}}
		if _, err := link.OpenAuthority(&secrets, &kept.tokens); err == nil || !bytes.Equal(secrets.records[record], data) {
			t.Errorf("authority, %s: got %v, and %q", name, err, secrets.records[record])
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := link.OpenIdentity(dir); err == nil || errors.Is(err, link.ErrNotJoined) || !strings.Contains(err.Error(), file+" is damaged") {
			t.Errorf("identity, %s: got %v", name, err)
		}
	}
	tokens := table{records: map[string][]byte{"x": []byte("{")}}
	if _, err := link.OpenAuthority(&kept.secrets, &tokens); err == nil {
		t.Error("tokens that cannot be read were opened")
	}
}

// TestNothingCanBeKept checks that no token is issued, and none used up, if it cannot be stored.
func TestNothingCanBeKept(t *testing.T) {
	var kept state
	m := newMasterOf(t, kept.open(t), nil)
	token, _, err := m.authority.NewToken(link.Terms{Node: 1, Life: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	kept.tokens.fail(full)
	if _, _, err := m.authority.NewToken(link.Terms{Node: 1, Life: time.Minute}); !errors.Is(err, full) {
		t.Errorf("new token: got %v, want %v", err, full)
	}
	dir := filepath.Join(t.TempDir(), "id")
	if _, err := link.Join(t.Context(), m.addr(), token, dir, "n1"); refusal(err) != full.Error() {
		t.Errorf("join: got %v, want %v", err, full)
	}
	kept.tokens.fail(nil)
	if _, err := link.Join(t.Context(), m.addr(), token, dir, "n1"); err != nil {
		t.Errorf("join: %v", err)
	}
	if _, err := link.OpenAuthority(&table{err: full}, new(table)); !errors.Is(err, full) {
		t.Errorf("new authority: got %v, want %v", err, full)
	}
}
