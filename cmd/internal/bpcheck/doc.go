// Package bpcheck is the command "bpctl check": it says what a machine lacks as a front end
// or node, for people or as JSON.
package bpcheck
