package cluster_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFromBPM checks that docs/from-bpm.md names the cases that show each behaviour of bpm, and every
// case. Where a behaviour differs, it has to say how, in some words.
func TestFromBPM(t *testing.T) {
	text, err := os.ReadFile("../../docs/from-bpm.md")
	if err != nil {
		t.Fatal(err)
	}
	left := make(map[string]bool)
	for _, c := range slices.Concat(lifeCases, isolationCases, jobKeys) {
		left[c.name] = true
	}
	for _, name := range slowNames {
		left[name] = true
	}
	known := len(left)
	shown := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "|") || len(cells) != 3 || strings.TrimSpace(cells[0]) == "behaviour of bpm" {
			continue
		}
		if here := cells[1]; !strings.HasPrefix(here, "the same") && len(strings.Fields(here)) < 3 {
			t.Errorf("%s: %q is no reason", cells[0], here)
		}
		for name := range strings.SplitSeq(strings.TrimSpace(cells[2]), "; ") {
			if !left[name] {
				t.Errorf("%s: there is no case %q", cells[0], name)
			}
			shown[name] = true
		}
	}
	for name := range left {
		if !shown[name] {
			t.Errorf("the case %q is not there", name)
		}
	}
	if known < 90 {
		t.Errorf("%d cases", known)
	}
}
