package master

import (
	"golang.org/x/sys/unix"

	"bproc/internal/crowd"
)

// seats divides the descriptors that this process may have open (RLIMIT_NOFILE) among their uses,
// so that none takes all: an administrator can look at the cluster, and nodes can come back,
// whatever clients do.
type seats struct {
	silent  int                  // connections of slaves that prove their identity
	waiting int                  // connections that wait for that
	crowd   *crowd.Crowd[uint32] // clients that have not asked for anything, by user
	most    int                  // connections of processes, and of requests that wait
	shares  *crowd.Shares[int64] // of these, by who pays
}

const (
	maxClients = 256  // clients that have not asked for anything
	maxSilent  = 128  // no more are needed: an honest slave speaks at once
	maxWaiting = 4096 // so many nodes may come at the same moment
	enough     = 1024 // for everything but processes and waiting connections
)

func newSeats(descriptors int) *seats {
	silent := min(maxSilent, max(descriptors/8, 1))
	waiting := min(maxWaiting, descriptors/8)
	most := max(descriptors/2, descriptors-enough-waiting)
	return &seats{
		silent:  silent,
		waiting: waiting,
		crowd:   crowd.New[uint32](min(maxClients, max(descriptors/8, 1))),
		most:    most,
		shares:  crowd.NewShares[int64](most),
	}
}

// descriptors returns how many descriptors this process may have open. Go's runtime
// has raised the soft limit to the hard one.
func descriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return enough
	}
	return int(min(limit.Cur, 1<<30))
}
