package pid1

import "testing"

func TestParentOf(t *testing.T) {
	for stat, want := range map[string]int{
		"70001 (sleep) S 1 70001 70001 0":        1,
		"70001 (a) b (c)) S 33 1 ) R 4) Z 55 66": 55, // a name that tries
		"70001 (sleep) S x 1":                    0,
		"":                                       0,
	} {
		if got := parentOf([]byte(stat)); got != want {
			t.Errorf("parentOf(%q): got %d, want %d", stat, got, want)
		}
	}
}
