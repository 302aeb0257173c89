package bpcp

// fanout is how many machines get the stream from one machine. With two, no machine sends it more
// than twice, and a few steps reach thousands.
const fanout = 2

// tree arranges members as a heap; the first is the root.
type tree []*member

func (t tree) parent(i int) int { return (i - 1) / fanout }

// depth returns the number of steps from the root to member i.
func (t tree) depth(i int) (steps int) {
	for ; i > 0; i = t.parent(i) {
		steps++
	}
	return steps
}

// children returns the children of member i.
func (t tree) children(i int) []*member {
	first := fanout*i + 1
	if first >= len(t) {
		return nil
	}
	return t[first:min(first+fanout, len(t))]
}
