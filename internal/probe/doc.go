// Package probe finds out whether the machine has what the daemons need. Each probe is a
// function that returns nil, or an error that names what is missing and the kernel option,
// kernel version or mount that brings it. The daemons call the probes at their start, and
// "bpctl check" calls them on request, so both say the same.
//
// Probes change nothing. Probes of files are methods of [Root], so that tests can give them
// files of their own.
package probe
