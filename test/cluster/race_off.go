//go:build !race

package cluster

// raceEnabled says whether this process, and so the commands of its clusters, run
// under the race detector.
const raceEnabled = false
