package client

import (
	"testing"
	"testing/synctest"

	"bproc/wire"
)

// TestTakes changes everything of a start that one request says once.
func TestTakes(t *testing.T) {
	c := &Client{Socket: "a"}
	alike := func() *wire.Run {
		return &wire.Run{HangUp: true, Report: true, Ends: true, Command: wire.Command{
			Argv: []string{"prog", "x"}, Env: []string{"A=1"}, Dir: "/", Ignored: 1, View: true, Path: "/bin/prog", OnlyDir: true,
		}}
	}
	r := &request{client: c, runs: []*wire.Run{alike()}}
	other := alike()
	other.Node, other.Ghost, other.Launch, other.Command.Env = 7, 8, 9, nil
	if !r.takes(&Client{Socket: "a"}, other) {
		t.Error("a start on another node is not taken")
	}
	if r.takes(&Client{Socket: "b"}, alike()) {
		t.Error("a start with another master is taken")
	}
	for name, change := range map[string]func(*wire.Run){
		"HangUp": func(r *wire.Run) { r.HangUp = false }, "Report": func(r *wire.Run) { r.Report = false },
		"Ends": func(r *wire.Run) { r.Ends = false }, "Argv": func(r *wire.Run) { r.Command.Argv[1] = "y" },
		"Dir": func(r *wire.Run) { r.Command.Dir = "/tmp" }, "OnlyDir": func(r *wire.Run) { r.Command.OnlyDir = false },
		"Path": func(r *wire.Run) { r.Command.Path = "" }, "Ignored": func(r *wire.Run) { r.Command.Ignored = 0 },
		"Stdio": func(r *wire.Run) { r.Command.Stdio[2].Mode = wire.DescriptorStream },
		"View":  func(r *wire.Run) { r.Command.View = false }, "Terminal": func(r *wire.Run) { r.Command.Terminal = new(wire.Terminal) },
	} {
		run := alike()
		if change(run); r.takes(c, run) {
			t.Errorf("a start with another %s is taken", name)
		}
	}
}

// TestGiveUp takes starts back that have not been asked for: nobody asks for them, and others are not harmed.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes
		all, c := new(together), new(Client)
		var places []*ticket
		for range 5 {
			places = append(places, all.enter())
		}
		runs := []*wire.Run{{Node: 1}, {Node: 2}, {Node: 3}}
		r, _ := all.add(places[1], c, runs[0])
		if with, _ := all.add(places[2], c, runs[1]); with != r {
			t.Fatal("two starts do not ask together")
		}
		if all.giveUp(r, runs[0]) || len(r.runs) != 1 || r.runs[0] != runs[1] || r.ctx.Err() != nil {
			t.Errorf("one has given up: got %v, %v", r.runs, r.ctx.Err())
		}
		if all.giveUp(r, runs[1]) || all.open != nil || r.ctx.Err() == nil {
			t.Errorf("both have given up: got %v, %v", all.open, r.ctx.Err())
		}
		if next, _ := all.add(places[3], c, runs[2]); next == r || next.ctx.Err() != nil {
			t.Error("a later start asks with those that have given up")
		}
		if all.giveUp(all.open, runs[2]); all.open != nil {
			t.Error("a request without a start waits for others")
		}
	})
}
