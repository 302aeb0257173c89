// Package bpctl implements the command bpctl: it changes the node table and makes join tokens.
package bpctl
