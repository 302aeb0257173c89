package space

import "testing"

// TestIdentity checks that the number is the same for the same space, and another for a space of
// another boot, in another namespace, or begun at another time.
func TestIdentity(t *testing.T) {
	stat := func(start string) []byte {
		return []byte("7 (bp init) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0 1 0 " + start + " 99\n")
	}
	same := identityOf([]byte("boot\n"), 4026531836, stat("1000"))
	if got := identityOf([]byte("boot"), 4026531836, stat("1000")); got != same || got == 0 {
		t.Errorf("got %d and %d for one space", same, got)
	}
	for what, got := range map[string]uint64{
		"of another boot":         identityOf([]byte("toob"), 4026531836, stat("1000")),
		"in another namespace":    identityOf([]byte("boot"), 4026531837, stat("1000")),
		"begun at another time":   identityOf([]byte("boot"), 4026531836, stat("1001")),
		"whose digits are others": identityOf([]byte("boot"), 402653183, stat("61000")),
	} {
		if got == same {
			t.Errorf("a space %s has the same number", what)
		}
	}
}
