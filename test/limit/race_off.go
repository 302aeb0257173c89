//go:build !race

package limit

// race is true under the race detector.
const race = false
