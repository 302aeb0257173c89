package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bproc/test/cluster"
)

// copyNodes is the number of nodes that files are copied to.
const copyNodes = 8

var copyFigures = []figure{
	{name: "rsync.big", unit: "s", runs: 1, measure: copied("big", rsync)},
	{name: "bpcp.big", unit: "s", base: "rsync.big", runs: 1, measure: copied("big", bpcp)},
	{name: "rsync.small", unit: "s", runs: 1, measure: copied("small", rsync)},
	{name: "bpcp.small", unit: "s", base: "rsync.small", runs: 1, measure: copied("small", bpcp)},
}

// copies is the state of the figures of copies.
type copies struct {
	bytes int64
	files int
	ready bool // the files exist, and node 0 has an ssh server
}

// originals makes the files to copy, on the front end.
const originals = `
import os, sys
size, files = int(sys.argv[1]), int(sys.argv[2])
os.makedirs("/dev/shm/big"); os.makedirs("/dev/shm/small")
block = os.urandom(1 << 20)
with open("/dev/shm/big/file", "wb") as f:
    for n in range(size >> 20):
        f.write(n.to_bytes(8, "big") + block[8:])
for n in range(files):
    if n % 100 == 0:
        os.mkdir(f"/dev/shm/small/{n // 100}")
    with open(f"/dev/shm/small/{n // 100}/{n}", "wb") as f:
        f.write(n.to_bytes(8, "big") + block[: n % 8000])
`

// prepareCopies makes the files and the server, once.
func (b *bench) prepareCopies(ctx context.Context) (*cluster.Cluster, error) {
	c, err := b.cluster(ctx, copyNodes)
	if err != nil || b.copies.ready {
		return c, err
	}
	b.copies.ready = true
	if _, err := output(ctx, c.Front, "python3", "-c", originals, fmt.Sprint(b.copies.bytes), fmt.Sprint(b.copies.files)); err != nil {
		return nil, err
	}
	return c, serveSSH(ctx, c)
}

// way copies a directory, and returns the nodes that have received it.
type way func(ctx context.Context, c *cluster.Cluster, dir string) ([]*cluster.Machine, error)

func rsync(ctx context.Context, c *cluster.Cluster, dir string) ([]*cluster.Machine, error) {
	_, err := output(ctx, c.Front, "rsync", "-a", "-e", ssh, "/dev/shm/"+dir, "n0:/dev/shm/copy")
	return c.Nodes[:1], err
}

func bpcp(ctx context.Context, c *cluster.Cluster, dir string) ([]*cluster.Machine, error) {
	_, err := output(ctx, c.Front, "bpcp", "-r", "-p", "/dev/shm/"+dir, "all:/dev/shm/copy")
	return c.Nodes, err
}

// copied measures a copy. Hashes are compared afterwards.
func copied(dir string, by way) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		c, err := b.prepareCopies(ctx)
		if err != nil {
			return 0, err
		}
		for _, m := range c.Nodes {
			if _, err := output(ctx, m, "sh", "-c", "rm -rf /dev/shm/copy && mkdir /dev/shm/copy"); err != nil {
				return 0, err
			}
		}
		begin := time.Now()
		nodes, err := by(ctx, c, dir)
		took := time.Since(begin)
		if err != nil {
			return 0, err
		}
		const hash = "find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
		want, err := output(ctx, c.Front, "sh", "-c", "cd /dev/shm/"+dir+" && "+hash)
		if err != nil {
			return 0, err
		}
		for _, m := range nodes {
			got, err := output(ctx, m, "sh", "-c", "cd /dev/shm/copy/"+dir+" && "+hash)
			if err != nil {
				return 0, err
			}
			if got != want {
				return 0, fmt.Errorf("%s: the copy has hash %s, want %s", m.Name, strings.TrimSpace(got), strings.TrimSpace(want))
			}
		}
		return took.Seconds(), nil
	}
}
