package slave

import (
	"errors"

	"bproc/internal/outbox"
	"bproc/wire"
)

// outlet sends messages to the master over the control stream of each session. It never blocks, and
// so neither does the recorder, which numbers events under its lock. A message put while there is
// no stream, or one that has failed, is dropped: the inventory of the next session makes up for it.
type outlet struct{ *outbox.Outbox }

// newOutlet returns an outlet without a stream. It calls full, which must not block, to end a
// session whose master does not read its messages.
func newOutlet(full func()) outlet { return outlet{outbox.New(full)} }

func (o outlet) put(m wire.Message) error { return o.request(0, m) }

// request is put for a request with a number. It fails only for an invalid message.
func (o outlet) request(number uint64, m wire.Message) error {
	if err := o.Put(number, m); errors.Is(err, wire.ErrFrame) {
		return err
	}
	return nil
}

// start begins a session with m as its first message.
func (o outlet) start(m wire.Message) error {
	o.Open()
	return o.put(m)
}
