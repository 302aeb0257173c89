//go:build !cgo

package space

// Only tools look at this: Probe refuses.
const withCgo = false
