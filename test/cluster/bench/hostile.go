package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"bproc/test/cluster"
	"bproc/test/cluster/liars"
)

// hostileFigures measure successive launches of one user, with and without clients of another user
// whose ghosts do not stop for their keeper.
var hostileFigures = []figure{
	{name: "hostile.launch.without", unit: "ms", measure: func(ctx context.Context, b *bench) (float64, error) { return b.launches(ctx) }},
	{name: "hostile.launch", unit: "ms", base: "hostile.launch.without", measure: func(ctx context.Context, b *bench) (_ float64, err error) {
		for _, kind := range []string{"vfork", "frozen", "filtered"} {
			liar, err := b.liar(ctx, kind)
			if err != nil {
				return 0, err
			}
			defer func() { err = errors.Join(err, liar.end()) }()
		}
		return b.launches(ctx)
	}},
}

// launches measures 200 launches.
func (b *bench) launches(ctx context.Context) (float64, error) {
	const count = 200
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return 0, err
	}
	spawner, err := program("spawn.c")
	if err != nil {
		return 0, err
	}
	out, err := c.Front.Command(ctx, cluster.Bob, spawner, strconv.Itoa(count), "1", "bpsh", "0", "true").Output()
	if err != nil {
		return 0, err
	}
	var micros, rate float64
	_, err = fmt.Sscan(string(out), &micros, &rate)
	return count / rate * 1000, err
}

// liar starts a client that names another process as its ghost.
func (b *bench) liar(ctx context.Context, kind string) (*dialogue, error) {
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := c.Front.Command(ctx, cluster.Root, exe, kind, fmt.Sprint(cluster.Alice.UID), "0")
	cmd.Env = append(cmd.Env, liars.Variable+"=1")
	d, err := talk(cmd)
	if err != nil {
		return nil, err
	}
	return d, d.heard()
}
