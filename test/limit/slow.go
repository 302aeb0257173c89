package limit

import (
	"os"
	"strconv"
	"time"
)

// slowVariable has the factor by which this machine is slower than usual; tests in machines with a
// translated processor set it.
const slowVariable = "BPROC_SLOW"

// Scaled returns the time limit on this machine for an operation with limit d on a usual one.
func Scaled(d time.Duration) time.Duration { return d * time.Duration(factor()) }

// Slow reports whether this machine is slower than usual.
func Slow() bool { return factor() > 1 }

func factor() int {
	if n, err := strconv.Atoi(os.Getenv(slowVariable)); err == nil && n > 1 {
		return n
	}
	return 1
}
