// Package check finds out what a machine lacks as a front end or as a node of a cluster, and what
// to do about it. It implements "bpctl check".
//
// The table in table.go lists the checks of each side. A check tests one thing and returns a
// [Result]: ok, warn (bproc works, but something is missing or slow), fail (bproc does not work),
// or skip (the check could not be made, for example without root). Checks change nothing, need no
// daemon, and do not depend on each other.
//
// All inputs of a check are in [Machine]: a root directory with /proc, /sys and /etc, and functions
// for facts that files do not show. Tests replace both.
package check
