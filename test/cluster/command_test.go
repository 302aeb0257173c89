package cluster_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestCommand checks the basic promise: the process has the ghost's number, ps shows the ghost like
// the process, and the command ends as the process does.
func TestCommand(t *testing.T) {
	t.Parallel()
	for _, user := range users {
		t.Run(user.Name, func(t *testing.T) {
			c := cluster.Shared(t, 4)
			wantIdle(t, c)
			argv := []string{"sh", "-c", "echo ready; echo $$; read go; exit 7", "an argument", ""}
			stdin, feed := pipe(t)
			r := startRemoteWith(t, c, user, 2, stdin, argv...)
			if got := r.line(); got != strconv.Itoa(r.ghost) {
				t.Errorf("the process says its number is %s, the ghost's is %d", got, r.ghost)
			}

			ghost, err := c.Front.Proc(r.ghost)
			if err != nil {
				t.Fatal(err)
			}
			bpsh, err := c.Front.Proc(ghost.PPID)
			if err != nil {
				t.Fatal(err)
			}
			process, err := c.Nodes[2].Remote(r.ghost)
			if err != nil {
				t.Fatal(err)
			}
			if ghost.Comm != "sh" || !slices.Equal(ghost.Args, argv) {
				t.Errorf("the ghost is %q %q, want %q %q", ghost.Comm, ghost.Args, "sh", argv)
			}
			if bpsh.Comm != "bpsh" || ghost.PGID != bpsh.PGID || ghost.SID != bpsh.SID {
				t.Errorf("the ghost is %+v, want a child of %+v in its group and session", ghost, bpsh)
			}
			if uid := int(user.UID); ghost.UID != uid || process.UID != uid {
				t.Errorf("UID: the ghost's %d, the process's %d, want %d", ghost.UID, process.UID, uid)
			}
			ps := ask(t, c.Front, user, "ps", "-ww", "-o", "comm=,args=", "-p", strconv.Itoa(r.ghost))
			if want := "sh sh -c echo ready; echo $$;"; !strings.HasPrefix(strings.Join(strings.Fields(ps), " "), want) {
				t.Errorf("ps shows %q, want %q ...", ps, want)
			}

			if _, err := feed.WriteString("\n"); err != nil {
				t.Fatal(err)
			}
			if code := r.wait(); code != 7 {
				t.Errorf("exit code %d, want 7", code)
			}
			r.gone()
		})
	}
}

// TestExitCodes passes on every exit code.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	for code := range 256 {
		if res := bpsh(t, c, cluster.Root, strconv.Itoa(code%4), "sh", "-c", fmt.Sprintf("exit %d", code)); res.Code != code || res.Stderr != "" {
			t.Errorf("exit code %d: got %+v", code, res)
		}
	}
}

// TestEnvironment checks what a command inherits from its caller.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	for _, tc := range []struct {
		name, set, show, want string
	}{
		{"environment", "export BLUE='a  b'", `sh -c 'printf "%s" "$BLUE"'`, "a  b"},
		{"working directory", "cd /usr/share", "pwd", "/usr/share"},
		{"umask", "umask 0027", "sh -c umask", "0027"},
		{"soft limit", "ulimit -S -n 333", "sh -c 'ulimit -S -n'", "333"},
		{"hard limit", "ulimit -H -c 0", "sh -c 'ulimit -H -c'", "0"},
		{"timer slack", "", "cat /proc/self/timerslack_ns", "50000"},
		{"nice value", "renice -n 15 $$ >/dev/null", "nice", "15"}, // the tests may be run by nice(1)
		{"no more descriptors than three", "exec 7</dev/null", "sh -c 'ls /proc/self/fd | wc -l'", "4"},
		{"arguments", "", `printf '<%s>' 'a b' '' '*' '"'`, `<a b><><*><">`},
		{"the node's host name", "", "hostname", "n1"},
		{"the node's files", "", "cat /etc/hostname", "n1"},
		{"user and groups", "", "id", "uid=12345(alice) gid=12345(alice) groups=12345(alice)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ask(t, c.Front, cluster.Alice, "sh", "-ec", tc.set+"\nbpsh 1 "+tc.show)
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
