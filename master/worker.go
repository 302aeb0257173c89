package master

import "context"

// slowly has the worker do something that would keep the core from its inputs.
// What it returns is done by the core then. Jobs are done one at a time: a node
// that asks for many keeps one processor busy and no more.
func (c *core) slowly(job func() func()) {
	c.slow = append(c.slow, job)
	c.nextJob()
}

func (c *core) nextJob() {
	if c.busy || len(c.slow) == 0 {
		return
	}
	c.busy = true
	c.jobs <- c.slow[0]
	c.slow = c.slow[1:]
}

// jobDone goes on after a job.
func (c *core) jobDone(finish func()) {
	c.busy = false
	finish()
	c.nextJob()
}

// work is the worker.
func (m *Master) work(ctx context.Context, jobs <-chan func() func()) error {
	for {
		select {
		case job := <-jobs:
			finish := job()
			if err := m.post(ctx, func(c *core) { c.jobDone(finish) }); err != nil {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}
