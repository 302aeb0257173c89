package cluster_test

import (
	"strings"
	"testing"

	"bproc/test/cluster"
)

// nameServer answers queries for the SRV record of _bproc._tcp.cluster.test with two ports, of which no
// server listens on the first, and for front.cluster.test with the address that is its argument. To
// other queries it answers that the name does not exist. At 127.0.0.2 it does not answer. It ends with
// its standard input.
const nameServer = `import os, socket, struct, sys, threading
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
silent.bind(("127.0.0.2", 53))
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0))).start()
print("ready", flush=True)
def name(text): return b"".join(bytes([len(l)]) + l.encode() for l in text.split(".")) + b"\0"
def record(priority, port):
    data = struct.pack(">HHH", priority, 0, port) + name("front")
    return b"\xc0\x0c" + struct.pack(">HHIH", 33, 1, 1, len(data)) + data
while True:
    q, peer = s.recvfrom(512)
    end = q.index(b"\0", 12) + 5
    answers = {
        name("_bproc._tcp.cluster.test") + struct.pack(">HH", 33, 1): [record(1, 2223), record(0, 1)],
        name("front.cluster.test") + struct.pack(">HH", 1, 1):
            [b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 1, 4) + socket.inet_aton(sys.argv[1])],
        name("front.cluster.test") + struct.pack(">HH", 28, 1): [],
    }.get(q[12:end].lower())
    head = q[:2] + struct.pack(">HHHHH", 0x8583 if answers is None else 0x8580, 1, len(answers or []), 0, 0)
    s.sendto(head + q[12:end] + b"".join(answers or []), peer)
`

// TestMasterByService has a node find its master by an SRV record of the DNS, in the given domain
// or its own, and by a file, and again with another master, and by a name of the DNS whose first
// server does not answer.
func TestMasterByService(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, NoSlaves: true})
	n := c.Nodes[0]
	resolver := func(first string) {
		t.Helper()
		if err := n.WriteFile("/etc/resolv.conf", first+"nameserver 127.0.0.1\nsearch cluster.test\n", 0o644); err != nil {
			t.Fatal(err)
		}
	}
	resolver("")
	in, end := pipe(t)
	defer end.Close()
	server := n.Command(t.Context(), cluster.Root, "python3", "-c", nameServer, c.Front.Addr.String())
	server.Stdin = in
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if said := make([]byte, 6); err == nil {
		if _, err := out.Read(said); err != nil || string(said) != "ready\n" {
			t.Fatalf("the name server says %q: %v", said, err)
		}
	}
	token, err := c.Enroll(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	res, err := n.Exec(t.Context(), cluster.Root, "bpslave", "--join", token, "_bproc._tcp.nowhere.test")
	if err != nil || res.Code != 1 || !strings.Contains(res.Stderr, "SRV record _bproc._tcp.nowhere.test") {
		t.Errorf("without a record: %+v, %v", res, err)
	}
	if res, err := n.Exec(t.Context(), cluster.Root, "bpslave"); err != nil || res.Code != 1 || !strings.Contains(res.Stderr, "no master given, and /etc/bproc/slave sets no MASTER") {
		t.Errorf("without a master: %+v, %v", res, err)
	}
	if err := n.WriteFile("/etc/bproc/slave", "MASTER=_bproc._tcp\n", 0o644); err != nil {
		t.Fatal(err)
	}
	for i, args := range [][]string{{"--join", token, "_bproc._tcp.cluster.test"}, {"front.cluster.test"}, nil} {
		resolver([]string{"", "nameserver 127.0.0.2\n", ""}[i])
		d, err := n.StartDaemon(t.Context(), false, append([]string{"bpslave"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		c.Slaves[0] = d
		if err := c.WaitUp(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if args != nil {
			if err := d.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	again(t, c, false)
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, n, cluster.Root, "bpctl", "check", "--node"); !strings.Contains(got, "_bproc._tcp is front:1, front:2223") {
		t.Errorf("bpctl check prints\n%s", got)
	}
}
