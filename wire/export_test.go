package wire

import (
	"maps"
	"slices"
)

// Validate checks a payload before it is decoded.
var Validate = validate

// Types returns the types that have a message, in order.
func Types() []Type { return slices.Sorted(maps.Keys(factories)) }

// DecodeStruct decodes a struct that is not part of a message.
var DecodeStruct = decode
