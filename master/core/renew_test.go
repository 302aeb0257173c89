package core

import (
	"slices"
	"testing"
	"time"

	"bproc/wire"
)

// certificateScript returns a script with a node whose certificate is good for some time. New
// certificates are good for 150 s.
func certificateScript(t *testing.T, life time.Duration) *script {
	s := scriptWith(t, Config{Certificate: 150 * time.Second})
	s.inputs("node 0", "up s0 0")
	s.shows(life)
	return s
}

// shows has the node show a certificate.
func (s *script) shows(life time.Duration) {
	s.step(NodeHealed{s.session("s0").id, Validity{s.now, s.now.Add(life)}})
}

// says fails the test unless the passing of a time brings out just these lines.
func (s *script) says(d string, want ...string) {
	s.Helper()
	if got := s.input("after", []string{d}); !slices.Equal(got, want) {
		s.Errorf("after %s: got %q, want %q", d, got, want)
	}
}

// TestCertificateIsRenewed asks a node until it has shown the new certificate.
func TestCertificateIsRenewed(t *testing.T) {
	s := certificateScript(t, 150*time.Second)
	s.says("99s")
	s.says("1s", "s0: Renew")
	s.says("4s")
	s.says("1s", "s0: Renew") // a tenth of what was left has passed
	s.lines = nil
	s.fromNode(s.session("s0"), 0, &wire.RenewRequest{CSR: []byte("key")})
	if want := []string{"s0 certifies key"}; !slices.Equal(s.lines, want) {
		t.Errorf("got %q, want %q", s.lines, want)
	}
	s.says("4s")
	s.says("1s", "s0: Renew") // it has not shown the new one
	s.shows(150 * time.Second)
	s.says("99s")
	s.says("1s", "s0: Renew")
}

// TestCertificateLivesTooLong renews a certificate from a time when certificates lived longer.
func TestCertificateLivesTooLong(t *testing.T) {
	certificateScript(t, time.Hour).says("1s", "s0: Renew")
}

// TestCertificateExpires closes the session of a node that does not renew its certificate.
func TestCertificateExpires(t *testing.T) {
	s := certificateScript(t, 10*time.Second)
	s.says("8s", "s0: Renew")
	s.says("3s",
		`log level=ERROR msg="the certificate of a node has expired; its connection is closed" node=0 addr=s0`,
		"s0 closed: "+ErrExpired.Error())
	if s.core.nodes.byID[0].sess != nil {
		t.Error("it is served")
	}
}

// TestCertificateUnasked checks that a node gets one certificate each time that it is asked.
func TestCertificateUnasked(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(s *script)
	}{
		{"never asked", func(*script) {}},
		{"again", func(s *script) {
			s.says("100s", "s0: Renew")
			s.fromNode(s.session("s0"), 0, new(wire.RenewRequest))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := certificateScript(t, 150*time.Second)
			tt.before(s)
			s.lines = nil
			s.fromNode(s.session("s0"), 0, new(wire.RenewRequest))
			if len(s.lines) != 2 || s.lines[1] != "s0 closed: unexpected message" {
				t.Errorf("got %q", s.lines)
			}
		})
	}
}

// TestClockIsBehind: a certificate that is not valid yet says that the clock is, and one that is made
// now might have expired when the clock is set.
func TestClockIsBehind(t *testing.T) {
	s := certificateScript(t, 150*time.Second)
	s.step(NodeHealed{s.session("s0").id, Validity{s.now.Add(time.Hour), s.now.Add(2 * time.Hour)}})
	s.says("10m")
}
