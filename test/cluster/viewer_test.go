package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/procfs"
	"bproc/procfs/nodes"
	"bproc/test/cluster"
	"bproc/wire"
)

// viewerVariable makes this binary a program that looks at the processes of all nodes, as the user
// and group with the number in the variable: it carries out the requests on its standard input, and
// answers each.
const viewerVariable = "BPROCTEST_VIEWER"

// viewRequest is a call of procfs.Source.
type viewRequest struct {
	Call string // name of the method
	PID  wire.PID
	Path string
}

// viewReply is the result of the call.
type viewReply struct {
	Changes procfs.Changes
	Data    []byte
	Entries []procfs.Entry
	Nodes   []procfs.Node
	Errno   unix.Errno
	Err     string
}

func viewer() error {
	id, err := strconv.Atoi(os.Getenv(viewerVariable))
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(id, id, id), unix.Setresuid(id, id, id)); err != nil {
		return err
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return err
	}
	source, err := nodes.New(new(client.Client), proc, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(context.Background())
	group.Go(func() error { return source.Run(ctx) })
	group.Go(func() error {
		requests, replies := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
		for {
			var q viewRequest
			if err := requests.Decode(&q); err != nil {
				return err
			}
			if err := replies.Encode(view(ctx, source, q)); err != nil {
				return err
			}
		}
	})
	if err := group.Wait(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// take merges later changes into the reply, in which ends come first.
func (r *viewReply) take(c procfs.Changes) {
	r.Changes.Changed = slices.DeleteFunc(r.Changes.Changed, func(p procfs.Process) bool { return slices.Contains(c.Ended, p.PID) })
	r.Changes.Changed = append(r.Changes.Changed, c.Changed...)
	r.Changes.Ended = append(r.Changes.Ended, c.Ended...)
}

func view(ctx context.Context, source *nodes.Source, q viewRequest) (r viewReply) {
	var err error
	var link string
	switch q.Call {
	case "Refresh":
		err = source.Refresh(ctx, false, r.take)
	case "Read":
		r.Data, err = source.Read(ctx, &procfs.Process{PID: q.PID}, q.Path)
	case "Link":
		link, err = source.Link(ctx, &procfs.Process{PID: q.PID}, q.Path)
		r.Data = []byte(link)
	case "List":
		r.Entries, err = source.List(ctx, &procfs.Process{PID: q.PID}, q.Path)
	case "Nodes":
		r.Nodes, err = source.Nodes(ctx)
	case "ReadNode":
		r.Data, err = source.ReadNode(ctx, wire.NodeID(q.PID), q.Path)
	default:
		err = fmt.Errorf("no call %q", q.Call)
	}
	if err != nil {
		r.Err = err.Error()
		errors.As(err, &r.Errno)
	}
	return r
}

// seen is a viewer on the front end, with the data that it has been told.
type seen struct {
	t     *testing.T
	in    *json.Encoder
	out   *json.Decoder
	procs map[wire.PID]procfs.Process
}

// startViewer starts a viewer for a user, until the test ends. It begins as root: no other user may
// read this program.
func startViewer(t *testing.T, c *cluster.Cluster, user cluster.User) *seen {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := c.Front.Command(context.WithoutCancel(t.Context()), cluster.Root, self)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", viewerVariable, user.UID))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the viewer ended: %v", err)
		}
	})
	return &seen{t, json.NewEncoder(stdin), json.NewDecoder(bufio.NewReader(stdout)), map[wire.PID]procfs.Process{}}
}

func (s *seen) call(q viewRequest) viewReply {
	s.t.Helper()
	if err := s.in.Encode(q); err != nil {
		s.t.Fatal(err)
	}
	var r viewReply
	if err := s.out.Decode(&r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// refresh applies and returns the changes.
func (s *seen) refresh() procfs.Changes {
	s.t.Helper()
	r := s.call(viewRequest{Call: "Refresh"})
	if r.Err != "" {
		s.t.Fatal(r.Err)
	}
	s.take(r.Changes)
	return r.Changes
}

func (s *seen) take(c procfs.Changes) {
	for _, pid := range c.Ended {
		delete(s.procs, pid)
	}
	for _, p := range c.Changed {
		s.procs[p.PID] = p
	}
}
