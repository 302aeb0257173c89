package nodes

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/procfs"
	"bproc/wire"
)

// Read implements [procfs.Source]. At most wire.MaxFetch bytes are read.
func (s *Source) Read(ctx context.Context, of *procfs.Process, path string) ([]byte, error) {
	found, p, err := s.inspect(ctx, of, wire.FetchFile, path)
	if err != nil {
		return nil, err
	}
	return p.translate(path, found.Data)
}

// translate converts a file of the node to the values of this machine.
func (p *process) translate(path string, text []byte) ([]byte, error) {
	tid := p.shown.PID
	name := path
	if rest, ok := strings.CutPrefix(path, "task/"); ok {
		if _, err := fmt.Sscanf(rest, "%d/%s", &tid, &name); err != nil {
			return text, nil
		}
	}
	switch name {
	case "stat":
		shown, err := shifted(text, tid, p.shift)
		if err != nil {
			return nil, err
		}
		return p.stat(shown, tid), nil
	case "status":
		shown, err := onNode(text, who{p.shown.Node, p.shown.PID, tid})
		return withParent(shown, p.place.parent), err
	}
	return text, nil
}

// Link implements [procfs.Source].
func (s *Source) Link(ctx context.Context, of *procfs.Process, path string) (string, error) {
	found, _, err := s.inspect(ctx, of, wire.FetchLink, path)
	if err != nil {
		return "", err
	}
	return linkText(found.Data)
}

func linkText(b []byte) (string, error) {
	if len(b) == 0 || len(b) > unix.PathMax || strings.IndexByte(string(b), 0) >= 0 {
		return "", fmt.Errorf("text of a link: %w: %w", errForm, unix.EIO)
	}
	return string(b), nil
}

// List implements [procfs.Source].
func (s *Source) List(ctx context.Context, of *procfs.Process, path string) ([]procfs.Entry, error) {
	found, _, err := s.inspect(ctx, of, wire.FetchList, path)
	if err != nil {
		return nil, err
	}
	return entries(found.Entries), nil
}

// inspect fetches a file below /proc/PID on its node for the reader, if the process there is still
// the one that was told.
func (s *Source) inspect(ctx context.Context, of *procfs.Process, kind wire.FetchKind, path string) (*client.Found, *process, error) {
	s.mu.Lock()
	var p process
	told := s.procs[of.PID]
	if told != nil {
		p = *told // a copy, because move changes it
	}
	silent := s.silentLocked()
	s.mu.Unlock()
	if silent {
		return nil, nil, errSilent
	}
	if told == nil || of.Start != 0 && (p.start != of.Start || p.shown.Node != of.Node) {
		return nil, nil, fmt.Errorf("process %d: %w", of.PID, unix.ESRCH)
	}
	found, err := s.client.Inspect(ctx, wire.Inspect{Node: p.shown.Node, PID: of.PID, Start: p.start, Kind: kind, Path: path, For: asker(ctx)})
	return found, &p, err
}

// Nodes implements [procfs.Source]. A node that is up and has not answered for some time is silent:
// the view shows old data of its processes.
func (s *Source) Nodes(ctx context.Context) ([]procfs.Node, error) {
	list, err := s.client.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("nodes of the cluster: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := make([]procfs.Node, len(list))
	for i, n := range list {
		nodes[i] = procfs.Node{ID: n.ID, State: n.State}
		if n.State == "up" && s.nodes[n.ID].silent(time.Now()) {
			nodes[i].State = "silent"
		}
	}
	return nodes, nil
}

// ReadNode implements [procfs.Source].
func (s *Source) ReadNode(ctx context.Context, node wire.NodeID, path string) ([]byte, error) {
	found, err := s.client.Inspect(ctx, wire.Inspect{Node: node, Kind: wire.FetchFile, Path: path, For: asker(ctx)})
	if err != nil {
		return nil, err
	}
	return found.Data, nil
}

// ListNode implements [procfs.Source].
func (s *Source) ListNode(ctx context.Context, node wire.NodeID, path string) ([]procfs.Entry, error) {
	found, err := s.client.Inspect(ctx, wire.Inspect{Node: node, Kind: wire.FetchList, Path: path, For: asker(ctx)})
	if err != nil {
		return nil, err
	}
	return entries(found.Entries), nil
}

// entries drops names that no file can have, and targets that no link can have.
func entries(told []wire.Entry) []procfs.Entry {
	var all []procfs.Entry
	for _, e := range told {
		if e.Name == "" || e.Name == "." || e.Name == ".." || len(e.Name) > unix.NAME_MAX || strings.ContainsAny(e.Name, "/\x00") {
			continue
		}
		entry := procfs.Entry{Name: e.Name}
		switch e.Type {
		case unix.DT_DIR:
			entry.Type = fs.ModeDir
		case unix.DT_LNK:
			entry.Type = fs.ModeSymlink
			entry.Target, _ = linkText([]byte(e.Target)) // none, or an invalid one: empty
		}
		all = append(all, entry)
	}
	return all
}
