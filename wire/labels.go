package wire

import "strings"

// A label is a tag, such as gpu, or an attribute, such as rack=4, that an administrator gives a
// node.

// Bounds of labels: the number on a node, and the bytes of a name and of a value.
const (
	MaxLabels     = 32
	maxLabelName  = 63
	maxLabelValue = 64
)

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// IsLabelName reports whether s is a valid name of a tag or an attribute.
func IsLabelName(s string) bool {
	return s != "" && len(s) <= maxLabelName && strings.Trim(s, alphanumeric+"_.-") == "" && strings.Trim(s[:1], alphanumeric+"_") == ""
}

// IsLabelValue reports whether s is a valid value of an attribute.
func IsLabelValue(s string) bool {
	return s != "" && len(s) <= maxLabelValue && strings.Trim(s, alphanumeric+"_.:/+@%-") == ""
}

// IsLabel reports whether s is a tag, or an attribute with its value.
func IsLabel(s string) bool {
	name, value, isAttribute := strings.Cut(s, "=")
	return IsLabelName(name) && (!isAttribute || IsLabelValue(value))
}

// OwnAttributes are the attributes that nodes report themselves: an administrator cannot set them.
var OwnAttributes = []string{"number", "name", "state", "arch", "kernel", "cpus", "cores", "sockets", "gpus", "mem"}
