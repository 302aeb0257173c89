package cluster_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestKeyrings has each command from the front end a session keyring of its own, which what it starts shares: what one user
// keeps there is no other's.
func TestKeyrings(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	session := -3 // KEY_SPEC_SESSION_KEYRING
	ring := fmt.Sprintf(`perl -e 'print syscall(%d, %d, %d, 0), "\n"'`, unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, session)
	seen := map[string]string{}
	for _, user := range []cluster.User{cluster.Alice, cluster.Bob, cluster.Alice, cluster.Root} {
		res := bpsh(t, c, user, "0", "sh", "-c", ring+"; "+ring)
		rings := strings.Fields(res.Stdout)
		if len(rings) != 2 || rings[0] != rings[1] {
			t.Fatalf("%s has the keyrings %+v", user.Name, res)
		}
		if n, err := strconv.Atoi(rings[0]); err != nil || n <= 0 {
			t.Fatalf("%s has the keyring %q", user.Name, rings[0])
		}
		if other := seen[rings[0]]; other != "" {
			t.Errorf("%s and %s have one keyring", user.Name, other)
		}
		seen[rings[0]] = user.Name
	}
}
