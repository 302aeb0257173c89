// Package bpctl is the command bpctl: it changes the node table and makes join
// tokens.
package bpctl
