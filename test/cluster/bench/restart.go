package main

import (
	"context"
	"errors"
	"time"
)

// restartFigures measure how long commands wait when the master is killed and started again: until
// "bpsh 0 true" has ended, with a number of living processes.
var restartFigures = []figure{
	{name: "restart.1000", unit: "ms", measure: restart(idlers)},
}

func restart(processes int) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (_ float64, err error) {
		c, err := b.cluster(ctx, defaultNodes)
		if err != nil {
			return 0, err
		}
		client, err := holdIdle(ctx, c, processes)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, client.end()) }()
		for range 2 {
			if err := errors.Join(client.heard(), client.say()); err != nil {
				return 0, err
			}
		}
		if err := c.Master.Kill(); err != nil {
			return 0, err
		}
		begun := time.Now()
		if err := c.StartMaster(ctx); err != nil {
			return 0, err
		}
		_, err = output(ctx, c.Front, "bpsh", "0", "true")
		return float64(time.Since(begun).Microseconds()) / 1000, err
	}
}
