// Package check tells what a machine lacks as a front end or as a node of a cluster, and
// what to do about it. It is what "bpctl check" does.
//
// The table in table.go lists the checks of each side. A check looks at one thing and
// returns a [Result]: ok, warn (bproc works, but something is missing or slow), fail (bproc
// does not work), or skip (this could not be looked at, for want of root). Checks change
// nothing, need no daemon, and do not depend on each other.
//
// All that a check looks at is in [Machine]: a root directory with /proc, /sys and /etc, and
// functions for what files do not tell. Tests replace both.
package check
