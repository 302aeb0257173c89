package bpsh

import (
	"fmt"
	"time"

	"bproc/internal/client"
)

// used is what all commands of a session have used, as far as it is known.
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

// String is what --time prints behind the elapsed time.
func (u *used) String() string {
	if u.known == 0 {
		return ""
	}
	return fmt.Sprintf(" %.6f user %.6f system %d KiB", seconds(u.User), seconds(u.System), u.MaxRSS)
}

func seconds(microseconds uint64) float64 {
	return (time.Duration(microseconds) * time.Microsecond).Seconds()
}
