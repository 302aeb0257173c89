//go:build !race

package cluster

// Race is true if this process, and so the commands of its clusters, run under the race detector.
const Race = false
