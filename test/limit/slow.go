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
func Scaled(d time.Duration) time.Duration {
	if factor, err := strconv.Atoi(os.Getenv(slowVariable)); err == nil && factor > 1 {
		return d * time.Duration(factor)
	}
	return d
}
