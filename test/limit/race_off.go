//go:build !race

package limit

// race says whether this process runs under the race detector.
const race = false
