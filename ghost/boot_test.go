package ghost

import "testing"

func TestThisBoot(t *testing.T) {
	if a, b := thisBoot(), thisBoot(); a != b || a == 0 {
		t.Errorf("%d and then %d, want one number that is not 0", a, b)
	}
	stat := func(start string) []byte {
		return []byte("1 (a) b) S 0 1 1 0 -1 4194560 17 1 0 0 0 0 0 0 20 0 1 0 " + start + " 3000 4 5\n")
	}
	boot := func(id string, namespace uint64, start string) uint64 {
		return bootNumber([]byte(id), namespace, stat(start))
	}
	now := boot("a\n", 1, "7")
	for name, same := range map[string]uint64{
		"again": boot("a\n", 1, "7"), "read otherwise": boot("a", 1, "7"),
	} {
		if same != now {
			t.Errorf("%s: another number", name)
		}
	}
	for name, other := range map[string]uint64{
		"another kernel": boot("b\n", 1, "7"), "another PID namespace": boot("a\n", 1<<40, "7"),
		"another init": boot("a\n", 1, "8"), "no init": bootNumber([]byte("a"), 1, nil),
	} {
		if other == now || other == 0 {
			t.Errorf("%s: number %d, and %d before", name, other, now)
		}
	}
}
