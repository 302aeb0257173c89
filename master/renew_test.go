package master

import (
	"errors"
	"slices"
	"testing"
	"time"

	"bproc/wire"
	"bproc/wire/link"
)

// madeUpAuthority wants certificates renewed when less than a minute is left.
type madeUpAuthority struct{ err error }

func (a *madeUpAuthority) Due(v link.Validity, now time.Time) bool {
	return v.Until.Sub(now) <= time.Minute
}

func (a *madeUpAuthority) Certify(identity string, csr []byte) ([]byte, error) {
	return []byte(identity + " certified " + string(csr)), a.err
}

// certificateScript is a script with a node whose certificate is good for some time.
func certificateScript(t *testing.T, life time.Duration) (*script, *madeUpAuthority, *madeUpLink) {
	s := newScript(t)
	a := new(madeUpAuthority)
	s.core.authority = a
	s.input("node", []string{"0"})
	s.input("up", []string{"s0", "0"})
	l := s.session("s0").link.(*madeUpLink)
	l.certificate = link.Validity{From: s.now, Until: s.now.Add(life)}
	return s, a, l
}

// says fails the test unless a second brings out just these lines.
func (s *script) says(d string, want ...string) {
	s.Helper()
	if got := s.input("after", []string{d}); !slices.Equal(got, want) {
		s.Errorf("after %s: got %q, want %q", d, got, want)
	}
}

// TestCertificateIsRenewed asks a node until it has shown the new certificate.
func TestCertificateIsRenewed(t *testing.T) {
	s, _, l := certificateScript(t, 100*time.Second)
	s.says("39s")
	s.says("1s", "s0: Renew")
	s.says("5s")
	s.says("1s", "s0: Renew") // a tenth of what was left has passed
	s.lines = nil
	s.core.fromSlave(s.session("s0"), 0, &wire.RenewRequest{CSR: []byte("key")})
	if want := []string{"s0: RenewReply key 0 certified key"}; !slices.Equal(s.lines, want) {
		t.Errorf("got %q, want %q", s.lines, want)
	}
	s.says("4s")
	s.says("2s", "s0: Renew") // it has not come with it
	l.certificate.Until = s.now.Add(time.Hour)
	s.says("58m")
	s.says("1m", "s0: Renew")
}

// TestCertificateExpires closes the session of a node that does not renew its certificate.
func TestCertificateExpires(t *testing.T) {
	s, _, _ := certificateScript(t, 10*time.Second)
	s.says("1s", "s0: Renew")
	s.says("10s",
		`log level=ERROR msg="the certificate of a node has expired; its connection is closed" node=0 addr=s0`,
		"s0 closed: "+link.ErrExpired.Error())
	if s.core.nodes.byID[0].sess != nil {
		t.Error("it is served")
	}
}

// TestCertificateUnasked: a node gets one certificate each time that it is asked.
func TestCertificateUnasked(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(s *script, a *madeUpAuthority)
		want   string
	}{
		{"never asked", func(*script, *madeUpAuthority) {}, "s0 closed: unexpected message"},
		{"again", func(s *script, _ *madeUpAuthority) {
			s.says("50s", "s0: Renew")
			s.core.fromSlave(s.session("s0"), 0, new(wire.RenewRequest))
		}, "s0 closed: unexpected message"},
		{"no request", func(s *script, a *madeUpAuthority) {
			s.says("50s", "s0: Renew")
			a.err = errors.New("no request")
		}, "s0 closed: no request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, a, _ := certificateScript(t, 100*time.Second)
			tt.before(s, a)
			s.lines = nil
			s.core.fromSlave(s.session("s0"), 0, new(wire.RenewRequest))
			if len(s.lines) != 2 || s.lines[1] != tt.want {
				t.Errorf("got %q, want %q", s.lines, tt.want)
			}
		})
	}
}
