// Package bpstat is the command bpstat: it prints the node table, one of its
// columns, or on which nodes processes are.
package bpstat
