//go:build race

package limit

const race = true
