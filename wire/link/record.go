package link

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A link record is a header and a payload:
//
//	 0        1                        4
//	+--------+------------------------+---------
//	| kind   | length, little-endian  | payload
//	+--------+------------------------+---------
//
// An acknowledgement is sent when enough bytes have come in, and otherwise at each interval, as a
// sign of life.
type kind uint8

const (
	kindData  kind = 1 // bytes of the link
	kindAck   kind = 2 // uint64, little-endian: number of bytes of the link received
	kindClose kind = 3 // the link ends here; the payload is the reason, for a log
)

const (
	recordHeader = 4
	ackSize      = 8
	maxReason    = 1 << 10

	// A record with its header fills a chunk of the queue, which fills four TLS records.
	maxData = chunkSize - recordHeader
)

// errRecord means bytes that are not a link record.
var errRecord = errors.New("malformed link record")

func putRecord(b []byte, k kind, length int) {
	binary.LittleEndian.PutUint32(b, uint32(k)|uint32(length)<<8)
}

func appendRecord(dst []byte, k kind, length int) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(k)|uint32(length)<<8)
}

func appendAck(dst []byte, received uint64) []byte {
	return binary.LittleEndian.AppendUint64(appendRecord(dst, kindAck, ackSize), received)
}

func appendClose(dst []byte, reason string) []byte {
	reason = reason[:min(len(reason), maxReason)]
	return append(appendRecord(dst, kindClose, len(reason)), reason...)
}

func parseRecord(b [recordHeader]byte) (kind, int, error) {
	h := binary.LittleEndian.Uint32(b[:])
	k, length := kind(h), int(h>>8)
	ok := false
	switch k {
	case kindData:
		ok = length > 0 && length <= maxData
	case kindAck:
		ok = length == ackSize
	case kindClose:
		ok = length <= maxReason
	}
	if !ok {
		return 0, 0, fmt.Errorf("%w: kind %d with %d bytes", errRecord, k, length)
	}
	return k, length, nil
}
