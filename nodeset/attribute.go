package nodeset

import (
	"cmp"
	"strconv"
	"strings"

	"bproc/wire"
)

// label returns the value of a tag or attribute that an administrator has set.
func label(n *wire.Node, name string) (value string, ok bool) {
	for _, l := range n.Labels {
		if have, value, _ := strings.Cut(l, "="); have == name {
			return value, true
		}
	}
	return "", false
}

// attribute returns the value of an attribute of a node. A node does not have an attribute that is
// not known.
func attribute(n *wire.Node, name string) (value string, ok bool) {
	number := func(v uint64) (string, bool) { return strconv.FormatUint(v, 10), v > 0 }
	switch name {
	case "number":
		return n.ID.String(), true
	case "name":
		return n.Name, n.Name != ""
	case "state":
		return n.State, true
	case "arch":
		return n.Arch, n.Arch != ""
	case "kernel":
		return n.Kernel, n.Kernel != ""
	case "cpus":
		return number(uint64(n.CPUs))
	case "cores":
		return number(uint64(n.Cores))
	case "sockets":
		return number(uint64(n.Sockets))
	case "mem":
		return number(n.Memory)
	case "gpus":
		return strconv.FormatUint(uint64(n.GPUs), 10), n.Cores > 0 // the node reports both at the same time
	}
	return label(n, name)
}

// isCounted reports whether the values of an attribute are numbers.
func isCounted(name string) bool {
	switch name {
	case "number", "cpus", "cores", "sockets", "mem", "gpus":
		return true
	}
	return false
}

// holds reports whether op holds for the result of a comparison.
func holds(result int, op string) bool {
	switch op {
	case "=":
		return result == 0
	case "!=":
		return result != 0
	case "<":
		return result < 0
	case "<=":
		return result <= 0
	case ">":
		return result > 0
	}
	return result >= 0
}

// compare compares two values: as numbers if both are numbers, otherwise as texts.
func compare(a, b string) int {
	x, isX := quantity(a)
	y, isY := quantity(b)
	if isX && isY {
		return cmp.Compare(x, y)
	}
	return compareTexts(a, b)
}

// units are the units of sizes.
const units = "KMGTPE"

// quantity returns a number that may have a unit: 64G, 64GiB and 64GB are the same.
func quantity(s string) (float64, bool) {
	s = strings.TrimSuffix(strings.TrimSuffix(s, "B"), "i")
	factor := 1.0
	if s != "" {
		if unit := strings.IndexByte(units, s[len(s)-1]); unit >= 0 {
			for range unit + 1 {
				factor *= 1024
			}
			s = s[:len(s)-1]
		}
	}
	if strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f * factor, err == nil
}

func isQuantity(s string) bool { _, ok := quantity(s); return ok }

// compareTexts compares texts; numbers in them are compared as numbers, and as they are written if
// there is no other difference: n1 and n01 are two names.
func compareTexts(a, b string) int {
	written := strings.Compare(a, b)
	for a != "" && b != "" {
		x, y := leading(a), leading(b)
		var result int
		if isDigits(x) && isDigits(y) {
			p, q := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			result = cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q))
		} else {
			result = strings.Compare(x, y)
		}
		if result != 0 {
			return result
		}
		a, b = a[len(x):], b[len(y):]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), written)
}

// leading returns the digits that a text begins with, or else its first character.
func leading(s string) string {
	n := len(s) - len(strings.TrimLeft(s, "0123456789"))
	return s[:max(n, 1)]
}
