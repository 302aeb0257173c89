package ghost

import (
	"bytes"
	"fmt"
	"strconv"

	"bproc/wire"
)

// processStatus has the fields of /proc/PID/status that the keeper needs.
type processStatus struct {
	name    string
	parent  wire.PID
	tracer  wire.PID // 0: none
	user    wire.IDs
	group   wire.IDs
	blocked uint64 // signals
	capable uint64 // effective capabilities
	threads uint64
	filters uint64 // of seccomp(2); 0 also where the kernel does not report them
}

func readStatus(pid wire.PID) (processStatus, error) {
	text, err := readProc(pid, "status")
	if err != nil {
		return processStatus{}, err
	}
	return parseStatus(text)
}

// parseStatus reads the file that proc_pid_status(5) describes.
func parseStatus(text []byte) (st processStatus, err error) {
	var parent, tracer, blocked, capable, threads, filters [1]uint64
	var user, group [3]uint64 // real, effective, saved; the fourth is the file system ID
	missing := 7              // filters may be missing
	name, rest, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("Name:\t")), []byte("\n"))
	for line := range bytes.Lines(rest) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		base, values := 10, []uint64(nil)
		switch string(key) {
		case "PPid":
			values = parent[:]
		case "TracerPid":
			values = tracer[:]
		case "Uid":
			values = user[:]
		case "Gid":
			values = group[:]
		case "SigBlk":
			base, values = 16, blocked[:]
		case "CapEff":
			base, values = 16, capable[:]
		case "Threads":
			values = threads[:]
		case "Seccomp_filters":
			values, missing = filters[:], missing+1
		default:
			continue
		}
		if err := statusValues(value, base, values); err != nil {
			return st, fmt.Errorf("process status: field %s: %w", key, err)
		}
		missing--
	}
	if missing > 0 {
		return st, fmt.Errorf("process status: %d fields are missing", missing)
	}
	ids := func(v [3]uint64) wire.IDs {
		return wire.IDs{Real: uint32(v[0]), Effective: uint32(v[1]), Saved: uint32(v[2])}
	}
	return processStatus{
		name: string(name), parent: wire.PID(parent[0]), tracer: wire.PID(tracer[0]), user: ids(user), group: ids(group),
		blocked: blocked[0], capable: capable[0], threads: threads[0], filters: filters[0],
	}, nil
}

// statusValues parses the first values of a field.
func statusValues(text []byte, base int, values []uint64) error {
	for i := range values {
		text = bytes.TrimLeft(text, "\t ")
		end := 0
		for end < len(text) && text[end] > ' ' {
			end++
		}
		v, err := strconv.ParseUint(string(text[:end]), base, 64)
		if err != nil {
			return err
		}
		values[i], text = v, text[end:]
	}
	return nil
}
