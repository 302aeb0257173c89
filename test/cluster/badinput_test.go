package cluster_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"bproc/test/cluster"
)

var update = flag.Bool("update", false, "rewrite testdata/badinput.golden")

// mistakes are command lines that fail, by user. Nodes 0 and 1 are up, 2 is down.
var mistakes = []struct {
	user  cluster.User
	lines []string
}{
	{cluster.Root, []string{
		"bpctl -S 0 -s Busy", "bpctl -S 0 -s bot", "bpctl -S 0 -s 0123456789abcdef", "bpctl -S 2 -s up", "bpctl -S 2 -R", "bpctl -S 7 -s up", "bpctl -M -s up",
		"bpctl -S 0 -m 118", "bpctl -S 0 -m 1111", "bpctl -S 0 -m -1", "bpctl -S 0 -m", "bpctl -S 0 -u nobody-here", "bpctl -S 0 -g nobody-here", "bpctl -S 0 --trust most",
		"bpctl -S error -s up", "bpctl -S nowhere -s up", "bpctl -S 1,,2 -s up", "bpctl -S 1-0 -s up", "bpctl -S (0 -s up", "bpctl -S tag: -s up", "bpctl -S attr:mem>=64Q -s up", "bpctl -S random:0/up -s up", "bpctl -S random:9/up -s up", "bpctl -S -s up", "bpctl -S 0",
		"bpctl -S 0 --sate up", "bpctl -S 0 -x", "bpctl -S 0 -s up extra", "bpctl frobnicate",
		"bpctl tag 0 g,u", "bpctl tag 0 rack=4;5", "bpctl tag 0 =4", "bpctl tag 0 cpus=4", "bpctl tag 0 ok -bad", "bpctl tag error gpu", "bpctl tag 7 gpu", "bpctl untag 0 rack=4", "bpctl untag 0",
		"bpctl drain error", "bpctl drain 7", "bpctl undrain", "bpctl log error", "bpctl log 7", "bpctl log -f 0-1", "bpctl revoke 7", "bpctl revoke error",
		"bpctl -S 2 --poweron", "bpctl -S 0 -R --timeout 0", "bpctl enroll --count 0", "bpctl enroll --node 0 --count 2", "bpctl enroll --revoke 0123456789abcdef", "bpctl enroll --ttl 1000h",
		"bpcp /etc/hostname 2:/tmp/badinput", "bpcp /etc/hostname error:/tmp/badinput", "bpcp /etc/hostname 7:/tmp/badinput", "bpcp /no/such/file 0:/tmp/badinput", "bpcp /etc 0:/tmp/badinput", "bpcp /etc/hostname", "bpcp --frob a b", "bpcp 0:/etc/hostname 1:/proc/x",
	}},
	{cluster.Alice, []string{
		"bpctl -S 0 -s up", "bpctl -S 0 -m 0", "bpctl -S 0 -u alice", "bpctl tag 0 gpu", "bpctl untag 0 gpu", "bpctl drain 0", "bpctl reload", "bpctl enroll", "bpctl enroll --list", "bpctl revoke 0", "bpctl log 0", "bpctl -S 2 --poweron",
		"bpstat nowhere", "bpstat 7", "bpstat --frob", "bpstat -x", "bpstat -A 0 1", "bpstat 1,,2",
		"bpsh 2 true", "bpsh nowhere true", "bpsh 7 true", "bpsh 0", "bpsh --frob 0 true", "bpsh 1-0 true",
		"bpcp /etc/hostname 0:/root/badinput", "bpcp /etc/shadow 0:/tmp/badinput", "bpcp 0:/etc/shadow /tmp/badinput", "bpcp /etc/hostname 0:/no/such/directory/x",
	}},
}

// TestBadInput has users make mistakes, and compares the messages with testdata/badinput.golden.
// Each is one line, and nothing has changed after all of them.
func TestBadInput(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 3, Limited: true, MasterConfig: "lease 2\n"})
	if err := c.Nodes[2].Off(); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitDown(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	is := func() string {
		return ask(t, c.Front, cluster.Root, "bpstat", "-l") + ask(t, c.Front, cluster.Root, "bpctl", "tag", "all") + ask(t, c.Front, cluster.Root, "bpctl", "enroll", "--list")
	}
	before := is()
	var got strings.Builder
	for _, by := range mistakes {
		for _, line := range by.lines {
			res, err := c.Front.Exec(t.Context(), by.user, strings.Fields(line)...)
			if err != nil {
				t.Fatal(err)
			}
			if res.Code == 0 || res.Stdout != "" || strings.Count(res.Stderr, "\n") != 1 {
				t.Errorf("%s: %s: got %+v, want one line", by.user.Name, line, res)
			}
			fmt.Fprintf(&got, "%s$ %s\n%sexit code %d\n\n", by.user.Name, line, res.Stderr, res.Code)
		}
	}
	if after := is(); after != before {
		t.Errorf("it is now\n%s\nwas\n%s", after, before)
	}
	for _, m := range []*cluster.Machine{c.Front, c.Nodes[0], c.Nodes[1]} {
		// find(1) would fail when other tests remove their directories meanwhile.
		if left := ask(t, m, cluster.Root, "sh", "-c", "ls -d /tmp/badinput /root/badinput /tmp/.bpcp* /root/.bpcp* 2>/dev/null || true"); left != "" {
			t.Errorf("%s: %s is left", m.Name, left)
		}
	}
	const golden = "testdata/badinput.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("line %d of %s differs: got\n%s", i+1, golden, got.String())
		}
	}
}
