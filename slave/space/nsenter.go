//go:build cgo

package space

import _ "github.com/opencontainers/runc/libcontainer/nsenter" // enters the namespaces before Go runs

const withCgo = true
