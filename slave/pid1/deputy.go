package pid1

import "context"

// supervise answers system calls in the place of the daemon while none is
// connected. When one is, it has the listener too and answers from outside; a
// notification that both see is received by one.
func (in *Init) supervise(ctx context.Context) error {
	if in.deputy == nil {
		return nil
	}
	for {
		var err error
		if !in.order.awaitNone(func() { err = in.deputy.Rearm() }) {
			return nil
		}
		if err == nil {
			err = in.deputy.Run(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// dismiss leaves the answering to the daemon.
func (in *Init) dismiss() {
	if in.deputy == nil {
		return
	}
	if err := in.deputy.Stop(); err != nil {
		in.cfg.Log.Error("cannot leave getppid to the daemon", "err", err)
	}
}
