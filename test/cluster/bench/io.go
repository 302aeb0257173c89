package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"bproc/test/cluster"
)

// ioFigures compare the standard descriptors of a remote command with a plain, unencrypted TCP
// connection over the same link: the same producer writes into a pipe, a relay carries it to the
// other machine with read and write, and the same consumer reads it from a pipe there. io.cpu is
// the processor time of all daemons for that volume out, io.cpu.in for it in. io.stdout.ssh and
// io.stdin.ssh are ssh(1) with AES-GCM instead of bpsh. io.many is the sum over many streams at a
// time, from all nodes.
var ioFigures = []figure{
	{name: "io.tcp", unit: "MB/s", measure: throughTCP},
	{name: "io.stdout", unit: "MB/s", base: "io.tcp", measure: throughBpsh("bpsh 0 " + producer + " | " + consumer)},
	{name: "io.stdin", unit: "MB/s", base: "io.tcp", measure: throughBpsh(producer + " | bpsh 0 " + consumer)},
	{name: "io.stdout.ssh", unit: "MB/s", base: "io.stdout", measure: throughSSH(aesSSH + " n0 '" + producer + "' | " + consumer)},
	{name: "io.stdin.ssh", unit: "MB/s", base: "io.stdin", measure: throughSSH(producer + " | " + aesSSH + " n0 " + consumer)},
	{name: "io.many", unit: "MB/s", base: "io.stdout", measure: throughMany},
	{name: "io.cpu", unit: "s", measure: streamEffort("bpsh 0 " + producer + " | " + consumer)},
	{name: "io.cpu.in", unit: "s", measure: streamEffort(producer + " | bpsh 0 " + consumer)},
}

// volume is the number of bytes that one run transfers.
const volume = 1 << 30

const (
	producer = "dd if=/dev/zero bs=256k count=4096 status=none" // writes volume
	consumer = "wc -c"
	aesSSH   = ssh + " -c aes128-gcm@openssh.com"
	relayed  = 128 << 10 // buffer size of the base's relay
)

// throughBpsh runs a shell line on the front end that ends with the consumer.
func throughBpsh(line string) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		c, err := b.cluster(ctx, defaultNodes)
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		text, err := output(ctx, c.Front, "bash", "-o", "pipefail", "-c", line)
		if err != nil {
			return 0, err
		}
		return speed(text, begin)
	}
}

// speed checks the consumer's count, and returns megabytes a second.
func speed(counted string, begin time.Time) (float64, error) {
	took := time.Since(begin)
	if n, err := strconv.Atoi(strings.TrimSpace(counted)); err != nil || n != volume {
		return 0, fmt.Errorf("the consumer got %q bytes, want %d", counted, volume)
	}
	return volume / took.Seconds() / 1e6, nil
}

// throughSSH is throughBpsh for lines with ssh(1).
func throughSSH(line string) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		if !b.serves {
			c, err := b.cluster(ctx, defaultNodes)
			if err == nil {
				err = serveSSH(ctx, c)
			}
			if err != nil {
				return 0, err
			}
			b.serves = true
		}
		return throughBpsh(line)(ctx, b)
	}
}

// manyStreams is the number of streams of io.many, each with a part of the volume.
const manyStreams = 32

// throughMany measures many streams at a time. Each is long enough to go past the master.
func throughMany(ctx context.Context, b *bench) (float64, error) {
	line := fmt.Sprintf(`set -e
for i in $(seq 0 %d); do
	(bpsh $((i %% %d)) dd if=/dev/zero bs=256k count=%d status=none | %s) &
	streams="$streams $!"
done
for s in $streams; do wait "$s"; done`, manyStreams-1, defaultNodes, volume/manyStreams>>18, consumer)
	return throughBpsh("("+line+") | (sum=0; while read n; do sum=$((sum + n)); done; echo $sum)")(ctx, b)
}

// throughTCP is the base.
func throughTCP(ctx context.Context, b *bench) (float64, error) {
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return 0, err
	}
	front, node, err := connect(ctx, c.Front, c.Nodes[0])
	if err != nil {
		return 0, err
	}
	defer front.Close()
	defer node.Close()
	begin := time.Now()
	sent := make(chan error, 1)
	go func() { sent <- produce(ctx, c.Nodes[0], node) }()
	counted, err := consume(ctx, c.Front, front)
	if err != nil {
		return 0, err
	}
	if err := <-sent; err != nil {
		return 0, err
	}
	return speed(counted, begin)
}

// produce runs the producer and relays its output to conn.
func produce(ctx context.Context, m *cluster.Machine, conn net.Conn) error {
	defer conn.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := m.Command(ctx, cluster.Root, strings.Fields(producer)...)
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		return err
	}
	if err := relay(conn, r); err != nil {
		return err
	}
	return cmd.Wait()
}

// consume runs the consumer on the bytes from conn, and returns its output.
func consume(ctx context.Context, m *cluster.Machine, conn net.Conn) (string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer w.Close()
	cmd := m.Command(ctx, cluster.Root, strings.Fields(consumer)...)
	cmd.Stdin = r
	relayed := make(chan error, 1)
	go func() {
		err := relay(w, conn)
		w.Close()
		relayed <- err
	}()
	res, err := cmd.Result()
	r.Close()
	if err != nil {
		return "", err
	}
	return res.Stdout, <-relayed
}

// relay copies by read and write. The types are hidden from io.Copy, which would splice.
func relay(to io.Writer, from io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, relayed))
	return err
}
