//go:build !cgo

package space

// Only tools use such a build: Probe refuses it.
const withCgo = false
