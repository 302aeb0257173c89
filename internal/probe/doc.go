// Package probe finds out whether the machine has the features that the daemons need. Each probe is
// a function that returns nil, or an error with the missing feature and the kernel option, kernel
// version or mount that provides it. The daemons call the probes at their start, and "bpctl check"
// calls them on request, so their results agree.
//
// Probes change nothing. Probes of files are methods of [Root], so that tests can supply their own
// files.
package probe
