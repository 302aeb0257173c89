package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// seal is the exclusive or of the hashes of records, in any order. A record that is
// put in twice is out again.
type seal [sha256.Size]byte

// sealOf is the seal of one record. Lengths are hashed, too, so that no two records
// are the same bytes.
func sealOf(table, name string, record []byte) seal {
	var b []byte
	for _, part := range []string{table, name} {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return sha256.Sum256(append(b, record...))
}

func sealFrom(b []byte) (s seal) {
	copy(s[:], b)
	return s
}

func (s seal) and(other seal) seal {
	for i := range s {
		s[i] ^= other[i]
	}
	return s
}

// checkSeal compares the seal of a store with its records.
func checkSeal(tables map[string]map[string][]byte) error {
	var got seal
	for table, records := range tables {
		for name, record := range records {
			if table != ownTable || name != sealKey {
				got = got.and(sealOf(table, name, record))
			}
		}
	}
	if want := tables[ownTable][sealKey]; string(want) != string(got[:]) {
		return errors.New("records are not as they were written")
	}
	return nil
}
