package nodes

import (
	"bytes"
	"hash/maphash"

	"bproc/wire"
)

// environs has each environment once, by its hash: most processes of a cluster share theirs with
// other processes.
type environs map[uint64]*environ

// environ is an environment. Its text does not change.
type environ struct {
	text  []byte
	users int // number of processes that have it
}

var seed = maphash.MakeSeed()

// use returns the environment with a text, and counts one more user; nil if the text is longer than
// a node may send.
func (all environs) use(text []byte) *environ {
	if len(text) > wire.MaxEnviron {
		return nil
	}
	hash := maphash.Bytes(seed, text)
	e := all[hash]
	switch {
	case e == nil:
		e = &environ{text: append([]byte{}, text...)} // not nil even if it is empty: see [procfs.Process]
		all[hash] = e
	case !bytes.Equal(e.text, text):
		return &environ{text: bytes.Clone(text), users: 1} // for this process alone
	}
	e.users++
	return e
}

// leave removes a user.
func (all environs) leave(e *environ) {
	if e == nil {
		return
	}
	if e.users--; e.users > 0 {
		return
	}
	if hash := maphash.Bytes(seed, e.text); all[hash] == e {
		delete(all, hash)
	}
}

// environOf returns the environment of a process from a node's message, and counts one more user;
// nil if it has to be fetched. Was is the previous version of the process, or nil.
func (all environs) environOf(t *wire.Texts, told [][]byte, was *process) *environ {
	which := int(t.Environ)
	switch {
	case which > 0 && which <= len(told):
		return all.use(told[which-1])
	case which == wire.EnvironAsBefore && was != nil && was.environ != nil && was.start == t.Start:
		was.environ.users++
		return was.environ
	}
	return nil
}
