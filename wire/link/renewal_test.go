package link_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bproc/test/limit"
	"bproc/wire/link"
)

// joinedAt joins a slave whose identity is stored in the directory.
func (m *master) joinedAt(dir string) *link.Identity {
	m.Helper()
	token, _, err := m.authority.NewToken(link.Terms{Node: 1, Life: time.Minute})
	if err != nil {
		m.Fatal(err)
	}
	id, err := link.Join(m.Context(), m.addr(), token, dir, "n1")
	if err != nil {
		m.Fatal(err)
	}
	return id
}

// until waits until is holds.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit.Scaled(30 * time.Second)); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// TestRenewal has a session go on with another certificate, and a later session begin with it, from
// the disk.
func TestRenewal(t *testing.T) {
	m := newMaster(t, nil)
	dir := filepath.Join(t.TempDir(), "identity")
	id := m.joinedAt(dir)
	m.authority.Life = 10 * link.DefaultLife // so that the next one differs
	slave, here := m.dial(id, m.addr())
	background(t, slave.Run)
	background(t, here.Run)
	at, from := streams(t, slave, here)
	exchange(t, from, at, "before")

	key, before := id.Key(), here.Certificate()
	if before != id.Validity() {
		t.Errorf("the master sees %v, the slave has %v", before, id.Validity())
	}
	renewal, err := id.Renew()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := m.authority.Certify(key, renewal.CSR)
	if err != nil {
		t.Fatal(err)
	}
	if id.Validity() != before {
		t.Error("the identity has changed before the certificate is there")
	}
	if err := renewal.Done(certificate); err != nil {
		t.Fatal(err)
	}
	slave.Reconnect()
	until(t, "the master sees the new certificate", func() bool { return here.Certificate() != before })
	exchange(t, from, at, "after")
	if here.Certificate() != id.Validity() || !id.Validity().Until.After(before.Until) || id.Key() != key {
		t.Errorf("the master sees %v, before %v; the slave has %v, and is %s, was %s", here.Certificate(), before, id.Validity(), id.Key(), key)
	}
	kept, err := link.OpenIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Key() != key || kept.Validity() != id.Validity() || kept.Home != home {
		t.Errorf("kept is %s until %v at home in %v", kept.Key(), kept.Validity(), kept.Home)
	}
	again, there := m.dial(kept, m.addr())
	again.Close(nil)
	there.Close(nil)
}

// TestNotRenewed gives an identity certificates that are not its own, and a disk that cannot be
// written to. The identity does not change.
func TestNotRenewed(t *testing.T) {
	m := newMaster(t, nil)
	dir := filepath.Join(t.TempDir(), "identity")
	id := m.joinedAt(dir)
	file := filepath.Join(dir, "identity.pem")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	renewal, err := id.Renew()
	if err != nil {
		t.Fatal(err)
	}
	certify := func(a *link.Authority, name string, csr []byte) []byte {
		der, err := a.Certify(name, csr)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	other, err := id.Renew()
	if err != nil {
		t.Fatal(err)
	}
	good := certify(m.authority, id.Key(), renewal.CSR)
	for name, certificate := range map[string][]byte{
		"nothing":              nil,
		"of another identity":  certify(m.authority, "somebody", renewal.CSR),
		"of another key":       certify(m.authority, id.Key(), other.CSR),
		"of another authority": certify(new(state).open(t), id.Key(), renewal.CSR),
	} {
		if err := renewal.Done(certificate); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := renewal.Done(good); err == nil {
		t.Error("it was taken and not kept")
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file has changed, %v", err)
	}
	slave, here := m.dial(id, m.addr())
	slave.Close(nil)
	here.Close(nil)
	if _, err := m.authority.Certify(id.Key(), []byte("no request")); err == nil {
		t.Error("something was certified that is no request")
	}
}

// TestExpired checks that a slave with an expired certificate is told so, and the remedy, and that
// the master's log names the slave.
func TestExpired(t *testing.T) {
	m := newMaster(t, nil)
	m.authority.Life = 2 * time.Second
	dir := filepath.Join(t.TempDir(), "identity")
	id := m.joinedAt(dir)
	slave, here := m.dial(id, m.addr())
	background(t, slave.Run)
	background(t, here.Run)
	var err error
	until(t, "it is refused", func() bool {
		err = link.Check(t.Context(), dialConfig(id, m.addr()))
		return err != nil
	})
	if time.Now().Before(id.Validity().Until) {
		t.Error("it is refused before it has expired")
	}
	wantRejoin := func(err error) {
		t.Helper()
		refused := (*link.RefusedError)(nil)
		if !errors.As(err, &refused) || !refused.Rejoin || refused.Later ||
			!strings.Contains(refused.Reason, "has expired") || !strings.Contains(refused.Reason, "bpctl enroll") {
			t.Errorf("got %v, want that it has expired, and what to do", err)
		}
	}
	wantRejoin(err)
	_, err = link.Dial(t.Context(), dialConfig(id, m.addr()))
	wantRejoin(err)
	if lines := m.log.wait(t, "has expired"); !strings.Contains(lines[0], id.Key()) || !strings.Contains(lines[0], "n1") {
		t.Errorf("the log of the master says %q, want who", lines[0])
	}
	// It is still on the disk: the master's clock may be wrong.
	if _, err := link.OpenIdentity(dir); err != nil {
		t.Error(err)
	}
	slave.Reconnect()
	wantRejoin(ended(t, slave))
	m.authority.Life = time.Hour
	m.joinedAt(dir)
	id, err = link.OpenIdentity(dir)
	if err == nil {
		err = link.Check(t.Context(), dialConfig(id, m.addr()))
	}
	if err != nil {
		t.Errorf("joined again: %v", err)
	}
}

// TestSetDownIsNotExpired: a slave that is to come later is told only that.
func TestSetDownIsNotExpired(t *testing.T) {
	down := false
	m := newMaster(t, func(c *link.ListenConfig) {
		c.Admit = func(link.Peer) error {
			if down {
				return &link.RefusedError{Reason: "set down", Later: true}
			}
			return nil
		}
	})
	m.authority.Life = time.Nanosecond
	id := m.joinedAt(filepath.Join(t.TempDir(), "identity"))
	var refused *link.RefusedError
	for _, down = range []bool{true, false} {
		if err := link.Check(t.Context(), dialConfig(id, m.addr())); !errors.As(err, &refused) || refused.Later != down {
			t.Errorf("set down %v: got %v", down, err)
		}
	}
}

// TestCheck checks that the question whether an identity is accepted makes no session.
func TestCheck(t *testing.T) {
	m := newMaster(t, func(c *link.ListenConfig) {
		c.Admit = func(p link.Peer) error {
			if p.Host == "down" {
				return &link.RefusedError{Reason: "it is down", Later: true}
			}
			return nil
		}
	})
	cfg := dialConfig(m.identity(), m.addr())
	if err := link.Check(t.Context(), cfg); err != nil {
		t.Error(err)
	}
	cfg.Hello.Host = "down"
	refused := (*link.RefusedError)(nil)
	if err := link.Check(t.Context(), cfg); !errors.As(err, &refused) || !refused.Later || refused.Rejoin || refused.Reason != "it is down" {
		t.Errorf("got %v", err)
	}
	if len(m.sessions) != 0 {
		t.Error("a session came of it")
	}
	if lines := m.log.with("it is down"); len(lines) != 0 {
		t.Errorf("who asks again and again fills the log: %q", lines)
	}
}

func TestDue(t *testing.T) {
	var kept state
	a := kept.open(t)
	a.Life = 90 * time.Hour
	now := time.Unix(1_000_000_000, 0)
	for _, tt := range []struct {
		name string
		from time.Duration // before now
		left time.Duration
		want bool
	}{
		{"new", 0, 90 * time.Hour, false},
		{"two thirds have passed", 60 * time.Hour, 30 * time.Hour, true},
		{"less", 59 * time.Hour, 31 * time.Hour, false},
		{"expired", 100 * time.Hour, -10 * time.Hour, true},
		{"not good yet", -time.Minute, 90*time.Hour + 30*time.Second, false},
		{"the clock is behind", -1000 * time.Hour, 1090 * time.Hour, false},
		{"of a time when they were good for longer", time.Hour, 200 * time.Hour, true},
		{"without an end", 1_000_000_000 * time.Second, 70 * 365 * 24 * time.Hour, true},
		{"of a time when they were good for less", 2 * time.Hour, 4 * time.Hour, false},
	} {
		if got := a.Due(link.Validity{From: now.Add(-tt.from), Until: now.Add(tt.left)}, now); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
