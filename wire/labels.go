package wire

import "strings"

// A label is what an administrator says of a node: a tag, such as gpu, or an attribute, such as
// rack=4.

// Bounds on labels: how many a node has, and the bytes of a name and of a value.
const (
	MaxLabels     = 32
	maxLabelName  = 63
	maxLabelValue = 64
)

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// IsLabelName reports whether a tag or an attribute can be called so.
func IsLabelName(s string) bool {
	return s != "" && len(s) <= maxLabelName && strings.Trim(s, alphanumeric+"_.-") == "" && strings.Trim(s[:1], alphanumeric+"_") == ""
}

// IsLabelValue reports whether an attribute can have this value.
func IsLabelValue(s string) bool {
	return s != "" && len(s) <= maxLabelValue && strings.Trim(s, alphanumeric+"_.:/+@%-") == ""
}

// IsLabel reports whether s is a tag, or an attribute with its value.
func IsLabel(s string) bool {
	name, value, isAttribute := strings.Cut(s, "=")
	return IsLabelName(name) && (!isAttribute || IsLabelValue(value))
}

// OwnAttributes are what a node says of itself: an administrator does not set these.
var OwnAttributes = []string{"number", "name", "state", "arch", "kernel", "cpus", "cores", "sockets", "gpus", "mem"}
