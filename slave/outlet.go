package slave

import (
	"errors"

	"bproc/internal/outbox"
	"bproc/wire"
)

// outlet is the way to the master, over the control stream of each session. It never
// waits, so that the recorder, which numbers events under its lock, never does. What
// is put while there is no stream, or one that has failed, is dropped: the inventory
// of the next session says it all.
type outlet struct{ *outbox.Outbox }

// newOutlet returns an outlet without a stream; full ends a session whose master does
// not take its messages, and must not wait.
func newOutlet(full func()) outlet { return outlet{outbox.New(full)} }

func (o outlet) put(m wire.Message) error { return o.request(0, m) }

// request is put for a request with this number. Its error is one of the message.
func (o outlet) request(number uint64, m wire.Message) error {
	if err := o.Put(number, m); errors.Is(err, wire.ErrFrame) {
		return err
	}
	return nil
}

// start begins a session, whose first message is m.
func (o outlet) start(m wire.Message) error {
	o.Open()
	return o.put(m)
}
