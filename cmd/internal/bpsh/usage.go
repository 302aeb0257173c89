package bpsh

import (
	"fmt"
	"time"

	"bproc/internal/client"
)

// used is the resource usage of all commands of a session, as far as it is known.
type used struct {
	known int
	client.Usage
}

func (s *session) usage() (all used) {
	for _, j := range s.jobs {
		if j.left { // the client may still be told
			continue
		}
		if u := j.cmd.Usage; u != nil {
			all.known++
			all.User, all.System, all.MaxRSS = all.User+u.User, all.System+u.System, max(all.MaxRSS, u.MaxRSS)
		}
	}
	return all
}

// String returns the text that --time prints after the elapsed time.
func (u *used) String() string {
	if u.known == 0 {
		return ""
	}
	return fmt.Sprintf(" %.6f user %.6f system %d KiB", seconds(u.User), seconds(u.System), u.MaxRSS)
}

func seconds(microseconds uint64) float64 {
	return (time.Duration(microseconds) * time.Microsecond).Seconds()
}
