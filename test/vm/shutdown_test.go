package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestShutdownTime has a journal with a restart before the shutdown, other units, and units that
// stop one after the other.
func TestShutdownTime(t *testing.T) {
	entry := func(seconds float64, unit, id string) string {
		return fmt.Sprintf(`{"__MONOTONIC_TIMESTAMP":"%.0f","UNIT":"%s","MESSAGE_ID":"%s"}`, seconds*1e6, unit, id)
	}
	restart := []string{entry(10, "bpmaster.service", stopping), entry(12, "bpmaster.service", stopped)}
	begun := append(restart, entry(100, "ssh.service", stopping), entry(101, "job0.service", stopping), entry(103.5, "job0.service", stopped),
		entry(104, "bpmaster.service", stopping), `{"__MONOTONIC_TIMESTAMP":"104500000","UNIT":["a","b"]}`)
	for _, c := range []struct {
		name    string
		journal []string
		want    time.Duration
		units   string
	}{
		{"whole", append(begun, entry(105, "bpmaster.service", stopped), entry(200, "ssh.service", stopped)), 4 * time.Second, "job0.service 2.5 s, bpmaster.service 1.0 s"},
		{"no end", begun, 0, ""},
		{"no begin", restart, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, units, err := shutdownTime(strings.Join(c.journal, "\n"), 50*time.Second)
			if got != c.want || units != c.units || (err == nil) != (c.want > 0) {
				t.Errorf("got %v, %q, %v; want %v, %q", got, units, err, c.want, c.units)
			}
		})
	}
}
