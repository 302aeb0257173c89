package ghost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// origins are two files: with the birth and the owner of each ghost, and with the space of its node
// if it was made by a client. The next keeper tells them to a master that does not know them either.
// The files are in the directory of the socket, which, like the ghosts, does not survive a reboot.
// An entry is written before its ghost is held, so every ghost that a keeper finds has one. The
// entry of a number without a ghost means nothing.
type origins struct{ file, spaces *os.File }

// Sizes of the entries: birth and owner, and a space. They are indexed by process number.
const (
	sizeofOrigin = 16
	sizeofSpace  = 8
)

// openOrigins opens the files of a socket. The keeper that has the socket has them alone.
func openOrigins(socket string) (*origins, error) {
	var o origins
	for suffix, f := range map[string]**os.File{".origins": &o.file, ".spaces": &o.spaces} {
		var err error
		if *f, err = os.OpenFile(socket+suffix, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("origins of ghosts: %w", err), o.close())
		}
	}
	return &o, nil
}

func (o *origins) put(how *wire.Adopted) error {
	var entry [sizeofOrigin]byte
	binary.LittleEndian.PutUint64(entry[0:], how.Birth)
	binary.LittleEndian.PutUint64(entry[8:], how.Owner)
	if _, err := o.file.WriteAt(entry[:], int64(how.PID)*sizeofOrigin); err != nil {
		return fmt.Errorf("origin of ghost %d: %w", how.PID, err)
	}
	if how.PID >= pidmap.Node {
		return nil
	}
	if _, err := o.spaces.WriteAt(binary.LittleEndian.AppendUint64(nil, how.Space), int64(how.PID)*sizeofSpace); err != nil {
		return fmt.Errorf("space of ghost %d: %w", how.PID, err)
	}
	return nil
}

// get fills in birth, owner and space; an entry that was never written has zeros.
func (o *origins) get(how *wire.Adopted) {
	var entry [sizeofOrigin]byte
	if _, err := o.file.ReadAt(entry[:], int64(how.PID)*sizeofOrigin); err != nil {
		return // beyond the last entry
	}
	how.Birth = binary.LittleEndian.Uint64(entry[0:])
	how.Owner = binary.LittleEndian.Uint64(entry[8:])
	if _, err := o.spaces.ReadAt(entry[:sizeofSpace], int64(how.PID)*sizeofSpace); err == nil {
		how.Space = binary.LittleEndian.Uint64(entry[:])
	}
}

func (o *origins) close() error {
	var errs []error
	for _, f := range []*os.File{o.file, o.spaces} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
