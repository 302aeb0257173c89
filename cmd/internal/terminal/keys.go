package terminal

import (
	"fmt"
	"io"
)

// Keys reads typed keys. It removes escape sequences and carries them out.
type Keys struct {
	Terminal *Terminal
	Source   io.Reader // the terminal
	Screen   io.Writer // for the help text
	Escapes  Escapes

	Disconnect func() // ~.
	Resumed    func() // after ~^Z: the size may have changed

	keys []byte // read, but not processed
	send []byte // processed, but not returned
	buf  [4096]byte
}

// Read implements [io.Reader]. It waits until the terminal is raw.
func (k *Keys) Read(p []byte) (int, error) {
	<-k.Terminal.ready
	for len(k.send) == 0 {
		if len(k.keys) == 0 {
			n, err := k.Source.Read(k.buf[:])
			if n == 0 && err != nil {
				return 0, err
			}
			k.keys = k.buf[:n]
		}
		var taken int
		var do Action
		k.send, taken, do = k.Escapes.Next(k.keys, k.send[:0])
		k.keys = k.keys[taken:]
		if err := k.do(do); err != nil {
			return 0, err
		}
	}
	n := copy(p, k.send)
	k.send = k.send[n:]
	return n, nil
}

func (k *Keys) do(do Action) error {
	switch do {
	case Disconnect:
		k.Disconnect()
		return io.EOF
	case Suspend:
		if err := k.Terminal.Stop(); err != nil {
			return err
		}
		k.Resumed()
	case Help:
		k.help()
	case None:
	}
	return nil
}

// help prints the escape sequences.
func (k *Keys) help() {
	name := string(rune(k.Escapes.Char))
	fmt.Fprintf(k.Screen, "%[1]s?\r\nEscape sequences, at the beginning of a line:\r\n"+
		" %[1]s.   end the connection; the command gets SIGHUP\r\n"+
		" %[1]s^Z  stop this side\r\n"+
		" %[1]s?   this list\r\n"+
		" %[1]s%[1]s   the escape character itself\r\n", name)
}
