package pid1

import "testing"

func TestParseStat(t *testing.T) {
	for stat, want := range map[string]relatives{
		"70001 (sleep) S 1 70002 70003 0":            {1, 70002, 70003},
		"70001 (a) b (c)) S 33 1 2 ) R 4) Z 55 66 7": {55, 66, 7}, // a name that imitates the format
	} {
		if got, ok := parseStat([]byte(stat)); !ok || got != want {
			t.Errorf("parseStat(%q): got %v, %v, want %v", stat, got, ok, want)
		}
	}
	for _, stat := range []string{"", "70001 (sleep) S x 1 1", "70001 (sleep) S 1 1"} {
		if got, ok := parseStat([]byte(stat)); ok {
			t.Errorf("parseStat(%q): got %v", stat, got)
		}
	}
}
