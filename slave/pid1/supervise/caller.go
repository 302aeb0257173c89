package supervise

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// statusSize is enough for the part of a status file of proc(5) that has the
// numbers: it is at most 300 bytes into the file, behind a name of 64 and, in
// full, the groups come later.
const statusSize = 1024

var numbersLine = []byte("\nNStgid:")

// caller returns the number that the process of a thread, named by its number
// here, has in the space, which is so many levels inside. There is none for a
// process in a PID namespace further in, and for a thread that is gone.
//
// Nothing is kept from one call to the next: a thread's number can pass to
// another one.
func caller(tid uint32, level Level) (wire.PID, bool) {
	var path [32]byte
	name := append(strconv.AppendUint(append(path[:0], "/proc/"...), uint64(tid), 10), "/status"...)
	fd, err := unix.Open(string(name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var buf [statusSize]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return 0, false
	}
	return innerNumber(buf[:n], level)
}

// innerNumber returns the last number of the NStgid line, if it has one for
// each namespace from that of this /proc to that of the space.
func innerNumber(status []byte, level Level) (wire.PID, bool) {
	_, line, ok := bytes.Cut(status, numbersLine)
	if !ok {
		return 0, false
	}
	line, _, ok = bytes.Cut(line, []byte("\n"))
	if !ok {
		return 0, false
	}
	numbers := bytes.Fields(line)
	if len(numbers) != int(level)+1 {
		return 0, false
	}
	pid, err := strconv.ParseInt(string(numbers[level]), 10, 32)
	return wire.PID(pid), err == nil
}
