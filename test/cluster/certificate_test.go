package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
)

// certificateLife is short for a certificate, and long enough for a busy machine to renew it in the
// last third.
const certificateLife = 30 * time.Second

// TestCertificateRenewed has a process outlive its node's first certificate. The daemons notice
// only the renewal.
func TestCertificateRenewed(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, MasterConfig: fmt.Sprintf("certificate %v\n", certificateLife)})
	first := identityOf(t, c.Nodes[0])
	daemon, err := c.Slaves[0].PID()
	if err != nil {
		t.Fatal(err)
	}
	in, write := pipe(t)
	r := startRemoteWith(t, c, cluster.Alice, 0, in, "sh", "-c", "echo ready; while read line; do echo got $line; done; exit 7")
	in.Close()
	until := first.Validity().Until
	for lines := 0; !time.Now().After(until.Add(time.Second)); lines++ {
		if _, err := fmt.Fprintln(write, lines); err != nil {
			t.Fatal(err)
		}
		r.expect(fmt.Sprint("got ", lines))
		time.Sleep(watch)
	}
	now := identityOf(t, c.Nodes[0])
	if now.Key() != first.Key() || !now.Validity().Until.After(until) || now.Home != first.Home {
		t.Errorf("the node is %s until %v, was %s until %v", now.Key(), now.Validity().Until, first.Key(), until)
	}
	if pid, err := c.Slaves[0].PID(); err != nil || pid != daemon {
		t.Errorf("the daemon is %d, was %d, %v", pid, daemon, err)
	}
	for _, says := range []struct{ log, text string }{
		{"front/log/bpmaster.log", "the certificate of a node is renewed"},
		{"n0/log/bpslave.log", "the certificate of this node is renewed"},
	} {
		if err := logged(c, says.log, says.text); err != nil {
			t.Error(err)
		}
	}
	if n := count(t, c, "n0/log/bpslave.log", "session with the master ended"); n > 0 {
		t.Errorf("%d sessions have ended", n)
	}
	write.Close()
	if code := r.wait(); code != 7 {
		t.Errorf("exit code %d, want 7: %s", code, &r.stderr)
	}
	r.gone()
	noErrors(t, c)
}

// TestCertificateExpired has a node stay away until its certificate has expired. Both sides report
// that, and the remedy, which helps.
func TestCertificateExpired(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, MasterConfig: fmt.Sprintf("certificate %v\nlease 3\n", certificateLife)})
	if err := c.Cut(0); err != nil {
		t.Fatal(err)
	}
	// It may have been renewed before that. The lease has run out long before.
	first := identityOf(t, c.Nodes[0])
	cluster.Eventually(t, "the certificate expires", func() error {
		if left := time.Until(first.Validity().Until); left > 0 {
			return fmt.Errorf("%v are left", left)
		}
		return nil
	})
	if err := c.Heal(0); err != nil {
		t.Fatal(err)
	}
	if err := c.Slaves[0].AwaitEnd(); err != nil {
		t.Fatal(err)
	}
	const says = "the certificate of this node has expired; enrol the node again: make a token with 'bpctl enroll'"
	for log, mentions := range map[string][]string{
		"front/log/bpmaster.log": {says, "slave n0 with the identity " + first.Key()},
		"n0/log/bpslave.log":     {says, first.Validity().Until.UTC().Format(time.RFC3339)},
	} {
		for _, text := range mentions {
			cluster.Eventually(t, log+" says what is wrong", func() error { return logged(c, log, text) })
		}
	}
	res, err := c.Nodes[0].Exec(t.Context(), cluster.Root, "bpslave", "front")
	if err != nil {
		t.Fatal(err)
	}
	if res.Code != 1 || !strings.Contains(res.Stderr, says) {
		t.Errorf("another daemon: got %+v", res)
	}
	joinAgain(t, c, 0)
	if now := identityOf(t, c.Nodes[0]); now.Key() == first.Key() || now.Home != first.Home {
		t.Errorf("it is %s at home in %v, was %s in %v", now.Key(), now.Home, first.Key(), first.Home)
	}
}
