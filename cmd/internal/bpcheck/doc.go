// Package bpcheck implements the command "bpctl check": it reports what a machine lacks as a front
// end or node, as text or JSON.
package bpcheck
