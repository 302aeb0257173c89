package limit

import (
	"os"
	"strconv"
	"time"
)

// slowVariable says how many times slower than usual this machine is; tests in machines
// whose processor is translated set it.
const slowVariable = "BPROC_SLOW"

// Scaled is how long something may take on this machine that may take d on a usual one.
func Scaled(d time.Duration) time.Duration { return d * time.Duration(factor()) }

// Slow reports whether this machine is slower than usual.
func Slow() bool { return factor() > 1 }

func factor() int {
	if n, err := strconv.Atoi(os.Getenv(slowVariable)); err == nil && n > 1 {
		return n
	}
	return 1
}
