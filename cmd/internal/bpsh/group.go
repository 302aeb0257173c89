package bpsh

import (
	"hash/maphash"
	"io"
	"slices"
	"strings"

	"bproc/internal/client"
	"bproc/nodeset"
)

// text keeps the standard output of a command for --group. A hash tells it from other texts without
// reading them again.
type text struct {
	kept io.Writer
	hash maphash.Hash
	size int
	last byte
}

// textSeed is the seed of all hashes that are compared.
var textSeed = maphash.MakeSeed()

func newText(kept io.Writer) *text {
	t := &text{kept: kept}
	t.hash.SetSeed(textSeed)
	return t
}

func (t *text) Write(p []byte) (int, error) {
	if len(p) > 0 {
		_, _ = t.hash.Write(p)
		t.size += len(p)
		t.last = p[len(p)-1]
	}
	return t.kept.Write(p)
}

// printGroups prints the standard output of the commands. Equal outputs are printed once, after a
// line with their nodes. Empty outputs are left out.
func (s *session) printGroups() error {
	type sum struct {
		hash uint64
		size int
	}
	groups := map[sum][]*job{}
	var order []sum
	for _, j := range s.jobs {
		t := j.outlet.text
		if t.size == 0 {
			continue
		}
		key := sum{t.hash.Sum64(), t.size}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], j)
	}
	for _, key := range order {
		if err := s.printGroup(groups[key]); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) printGroup(jobs []*job) error {
	var nodes []client.NodeID
	for _, j := range jobs {
		nodes = append(nodes, j.cmd.Node)
		if j != jobs[0] {
			j.outlet.spool.discard()
		}
	}
	slices.Sort(nodes)
	out := jobs[0].outlet
	out.spool.header = divider(nodeset.Format(slices.Compact(nodes)))
	if err := out.spool.release(); err != nil {
		return err
	}
	if out.text.last != '\n' {
		_, err := io.WriteString(s.shell.Stdout, "\n")
		return err
	}
	return nil
}

// divider returns the line before the output of one or more nodes.
func divider(nodes string) string {
	return nodes + "\t" + strings.Repeat("-", 69) + "\n"
}
