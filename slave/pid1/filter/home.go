package filter

import (
	"errors"
	"fmt"
	"strconv"
)

// Home is a range of process numbers that no process outside of the space can ever have. This
// node's kernel knows best about these, and calls about them are its own. That is fastest, and such
// a call does not wait for the supervisor to receive it, while a signal could interrupt it. The
// zero Home is empty.
type Home struct {
	First, End uint32
}

var errHome = errors.New("not the first number at home and the one behind the last")

// Args returns the home as arguments of a program.
func (h Home) Args() []string {
	return []string{strconv.FormatUint(uint64(h.First), 10), strconv.FormatUint(uint64(h.End), 10)}
}

// ParseHome parses the arguments that Args has made.
func ParseHome(args []string) (Home, error) {
	if len(args) != 2 {
		return Home{}, fmt.Errorf("%q: %w", args, errHome)
	}
	var n [2]uint32
	for i, arg := range args {
		v, err := strconv.ParseUint(arg, 10, 31)
		if err != nil {
			return Home{}, fmt.Errorf("%q: %w", args, errHome)
		}
		n[i] = uint32(v)
	}
	if n[0] > n[1] {
		return Home{}, fmt.Errorf("%q: %w", args, errHome)
	}
	return Home{First: n[0], End: n[1]}, nil
}
