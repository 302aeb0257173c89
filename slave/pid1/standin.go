package pid1

// supervise stands in for the daemon while none is connected. When one is, it
// has the listener too and answers from outside; a notification that both see
// is received by one.
func (in *Init) supervise() error {
	if in.standIn == nil {
		return nil
	}
	for {
		var err error
		if !in.order.awaitNone(func() { err = in.standIn.Rearm() }) {
			return nil
		}
		if err == nil {
			err = in.standIn.Run()
		}
		if err != nil {
			return err
		}
	}
}

// dismiss ends the standing in.
func (in *Init) dismiss() {
	if in.standIn == nil {
		return
	}
	if err := in.standIn.Stop(); err != nil {
		in.cfg.Log.Error("cannot leave getppid to the daemon", "err", err)
	}
}
