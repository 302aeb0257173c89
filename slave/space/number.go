package space

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Number returns the number in the space of the process at the other end of a connection, given by
// what the kernel says of it: its number outside and its effective user and group when it connected;
// ESRCH if there is none, or it has another user or group now, as after the start of a set-group-ID
// program: others may have the connection then. Another process of that user and group may have the
// outer number by now.
func (s *Space) Number(peer unix.Ucred) (wire.PID, error) {
	host := int(peer.Pid)
	dir := fmt.Sprintf("/proc/%d", host)
	var ns unix.Stat_t
	if err := unix.Stat(dir+"/ns/pid", &ns); err != nil {
		return 0, fmt.Errorf("process %d: %w", host, err)
	}
	if uint32(ns.Ino) != s.inode {
		return 0, fmt.Errorf("process %d is not of the space: %w", host, unix.ESRCH)
	}
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", host, err)
	}
	const effective = 1
	is := func(name string, id uint32) bool {
		ids := line(status, name)
		return len(ids) > effective && ids[effective] == uint64(id)
	}
	numbers := line(status, "\nNSpid:")
	if !is("\nUid:", peer.Uid) || !is("\nGid:", peer.Gid) || len(numbers) == 0 {
		return 0, fmt.Errorf("process %d is another now: %w", host, unix.ESRCH)
	}
	return wire.PID(numbers[len(numbers)-1]), nil
}

// line returns the numbers of a line of /proc/PID/status.
func line(status []byte, name string) (numbers []uint64) {
	_, rest, _ := bytes.Cut(status, []byte(name))
	text, _, _ := bytes.Cut(rest, []byte("\n"))
	for _, word := range bytes.Fields(text) {
		n, err := strconv.ParseUint(string(word), 10, 32)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}
