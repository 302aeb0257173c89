package procstat_test

import (
	"testing"

	"bproc/internal/procstat"
)

func TestNamespaceID(t *testing.T) {
	t.Parallel()
	stat := func(start string) procstat.Stat {
		return procstat.Stat("1 (a) b) S 0 1 1 0 -1 4194560 17 1 0 0 0 0 0 0 20 0 1 0 " + start + " 3000 4 5\n")
	}
	now := procstat.NamespaceID([]byte("a\n"), 1, stat("7"))
	for name, same := range map[string]uint64{
		"again":          procstat.NamespaceID([]byte("a\n"), 1, stat("7")),
		"read otherwise": procstat.NamespaceID([]byte("a"), 1, stat("7")),
	} {
		if same != now {
			t.Errorf("%s: another number", name)
		}
	}
	for name, other := range map[string]uint64{
		"another kernel":        procstat.NamespaceID([]byte("b\n"), 1, stat("7")),
		"another PID namespace": procstat.NamespaceID([]byte("a\n"), 1<<40, stat("7")),
		"another init":          procstat.NamespaceID([]byte("a\n"), 1, stat("8")),
		"no init":               procstat.NamespaceID([]byte("a"), 1, nil),
	} {
		if other == now || other == 0 {
			t.Errorf("%s: number %d, and %d before", name, other, now)
		}
	}
}
