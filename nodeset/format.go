package nodeset

import (
	"strings"

	"bproc/wire"
)

// Format returns the shortest list of numbers and ranges for ids, in their
// order: 0-2,5.
func Format(ids []wire.NodeID) string {
	var b strings.Builder
	for i := 0; i < len(ids); {
		j := i + 1
		for j < len(ids) && ids[j] == ids[j-1]+1 && ids[i] >= 0 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(ids[i].String())
		if j-i > 1 {
			b.WriteString("-" + ids[j-1].String())
		}
		i = j
	}
	return b.String()
}
