// Package bpstat implements the command bpstat: it prints the node table, one of its columns, or
// the nodes of processes.
package bpstat
