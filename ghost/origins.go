package ghost

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// origins is a file with the birth and the owner of each ghost. The next keeper tells them to a
// master that does not know them either. The file is in the directory of the socket, which, like
// the ghosts, does not survive a reboot. An entry is written before its ghost is held, so every
// ghost that a keeper finds has one. The entry of a number without a ghost means nothing.
type origins struct{ file *os.File }

// sizeofOrigin is the size of an entry: birth and owner. Entries are indexed by process number.
const sizeofOrigin = 16

// openOrigins opens the file of a socket. The keeper that has the socket has it alone.
func openOrigins(socket string) (*origins, error) {
	f, err := os.OpenFile(socket+".origins", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("origins of ghosts: %w", err)
	}
	return &origins{f}, nil
}

func (o *origins) put(how *wire.Adopted) error {
	var entry [sizeofOrigin]byte
	binary.LittleEndian.PutUint64(entry[0:], how.Birth)
	binary.LittleEndian.PutUint64(entry[8:], how.Owner)
	if _, err := o.file.WriteAt(entry[:], int64(how.PID)*sizeofOrigin); err != nil {
		return fmt.Errorf("origin of ghost %d: %w", how.PID, err)
	}
	return nil
}

// get fills in birth and owner; an entry that was never written has zeros.
func (o *origins) get(how *wire.Adopted) {
	var entry [sizeofOrigin]byte
	if _, err := o.file.ReadAt(entry[:], int64(how.PID)*sizeofOrigin); err != nil {
		return // beyond the last entry
	}
	how.Birth = binary.LittleEndian.Uint64(entry[0:])
	how.Owner = binary.LittleEndian.Uint64(entry[8:])
}

func (o *origins) close() error { return o.file.Close() }
