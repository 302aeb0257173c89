package wire

import (
	"maps"
	"slices"
)

// Validate is the walker that every payload passes before it is decoded.
var Validate = validate

// Types returns the types that have a message, in order.
func Types() []Type { return slices.Sorted(maps.Keys(factories)) }

// DecodeStruct decodes a struct that is part of no message.
var DecodeStruct = decode
