package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// witness is a process of Bob's on the honest node 0, which other activity must not affect, and the
// daemons' memory before that.
type witness struct {
	t      *testing.T
	c      *cluster.Cluster
	r      *remote
	before footprint
}

// daemonsWatched is the number of daemons on the front end and on a node, with the view and the
// init of the space.
const daemonsWatched = 5

// newWitness starts a view and the witness in a cluster that has been used.
func newWitness(t *testing.T, c *cluster.Cluster) *witness {
	t.Helper()
	startView(t, c)
	workIn(t, c, 0)
	w := &witness{t: t, c: c}
	pause := limit.Scaled(50 * time.Millisecond).Seconds() // its births leave time for others
	w.r = startRemote(t, c, cluster.Bob, 0, "sh", "-c", fmt.Sprintf("trap 'echo got it' USR1; echo ready; while :; do sleep %g; done", pause))
	w.before = footprint{}
	for range 3 { // the memory that the Go runtime keeps varies without other activity
		w.fine()
		for name, kib := range w.memory() {
			w.before[name] = max(w.before[name], kib)
		}
	}
	if t.Logf("memory in KiB: %v", w.before); len(w.before) != daemonsWatched {
		t.Fatalf("these are not the %d daemons of the front end and a node", daemonsWatched)
	}
	return w
}

// memory returns the memory of the daemons.
func (w *witness) memory() footprint {
	w.t.Helper()
	f, err := footprintOf(w.c, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// fine checks that the honest node and clients work: launches, output, exit status, signals and the
// view.
func (w *witness) fine() {
	t, c := w.t, w.c
	t.Helper()
	for _, user := range []cluster.User{cluster.Alice, cluster.Bob} {
		if res := bpsh(t, c, user, "0", "sh", "-c", "sleep 0; echo works; exit 7"); res.Stdout != "works\n" || res.Code != 7 {
			t.Errorf("%s: got %+v", user.Name, res)
		}
	}
	w.r.kill(unix.SIGUSR1)
	w.r.expect("got it")
	select {
	case line := <-w.r.lines:
		t.Errorf("the witness got another signal, or its output is another's: %q", line)
	default:
	}
	uid := int(cluster.Bob.UID)
	if p, err := c.Front.Proc(w.r.ghost); err != nil || !slices.Equal(p.UIDs, []int{uid, uid, uid}) {
		t.Errorf("the ghost of the witness is %+v, %v", p, err)
	}
	if ps := inView(t, c, cluster.Bob, "ps", "-o", "user=,args=", "-p", fmt.Sprint(w.r.ghost)); !strings.HasPrefix(ps, "bob") || !strings.Contains(ps, "trap") {
		t.Errorf("ps shows the witness as %q", ps)
	}
	answers(t, c)
}

// asBefore checks that everything works, that nothing is left except the witness, and that the
// memory of the daemons has not grown. The cluster is used meanwhile: a daemon gives memory back after
// it has done something.
func (w *witness) asBefore() {
	t := w.t
	t.Helper()
	w.fine()
	cluster.Eventually(t, "nothing is left of it", w.alone)
	begin := time.Now()
	used := begin
	cluster.Eventually(t, "memory is as before", func() error {
		if time.Since(used) > useEvery {
			w.fine()
			used = time.Now()
		}
		return w.before.grown(w.c, 0)
	})
	t.Logf("memory after %v: %v", time.Since(begin).Round(time.Millisecond), w.memory())
}

// useEvery is the time between uses of a cluster whose memory is not as before. In it, daemons give
// memory back twice.
const useEvery = 20 * time.Second

// alone returns an error if there are ghosts other than those of the witness.
func (w *witness) alone() error {
	ghosts, err := w.c.Front.Ghosts()
	if err != nil {
		return err
	}
	for _, g := range ghosts {
		if g.PID != w.r.ghost && g.PPID != w.r.ghost {
			return fmt.Errorf("ghost %d of %d is left: %v", g.PID, g.PPID, g.Args)
		}
	}
	return nil
}

// end ends the witness.
func (w *witness) end() {
	w.t.Helper()
	w.r.kill(unix.SIGKILL)
	w.r.wait()
	w.r.gone()
}
