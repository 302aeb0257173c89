package jail

import "testing"

// TestResolver checks that a job does not see all of /run because of /etc/resolv.conf.
func TestResolver(t *testing.T) {
	for target, want := range map[string]string{
		"/run/resolv.conf":                      "/run/resolv.conf",
		"/run/systemd/resolve/stub-resolv.conf": "/run/systemd/resolve",
	} {
		if got := resolver(target); got != want {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
	}
}
