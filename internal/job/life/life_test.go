package life

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/internal/coretest"
)

func TestPure(t *testing.T) { coretest.Pure(t) }

var epoch = time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)

// way leads to a state and phase by inputs. Each comes a second after the previous one, and Due at
// its time.
type way struct {
	name   string
	config Config
	inputs []Input
}

var (
	plain  = Config{ShutdownTimeout: 20 * time.Second}
	hook   = Config{ShutdownTimeout: 20 * time.Second, Hook: true, Interrupt: true}
	always = Config{ShutdownTimeout: 20 * time.Second, Rule: Rule{When: Always}}
	redo   = Config{ShutdownTimeout: 20 * time.Second, Rule: Rule{When: OnFailure}}
	rehook = Config{ShutdownTimeout: 20 * time.Second, Hook: true, Rule: Rule{When: OnFailure}}
)

var bad = Exit{Code: 7}

var ways = []way{
	{"created", plain, nil},
	{"starting, hook", hook, []Input{Start{}}},
	{"starting, hook began", hook, []Input{Start{}, HookBegan{1}}},
	{"starting, hook killed", hook, []Input{Start{}, HookBegan{1}, Due{}}},
	{"starting, launch", plain, []Input{Start{}}},
	{"starting after hook, launch", hook, []Input{Start{}, HookEnded{1, Exit{}}}},
	{"starting by rule, launch", redo, []Input{Start{}, Started{1}, Ended{1, bad}, Due{}}},
	{"starting by rule, hook", rehook, []Input{Start{}, HookEnded{1, Exit{}}, Started{1}, Ended{1, bad}, Due{}}},
	{"running", plain, []Input{Start{}, Started{1}}},
	{"running, on-failure", redo, []Input{Start{}, Started{1}}},
	{"running, always", always, []Input{Start{}, Started{1}}},
	{"stopping, hook killed", hook, []Input{Start{}, Stop{}}},
	{"stopping, launch", plain, []Input{Start{}, Stop{}}},
	{"stopping, asked", always, []Input{Start{}, Started{1}, Stop{}}},
	{"stopping, asked by INT", hook, []Input{Start{}, HookEnded{1, Exit{}}, Started{1}, Stop{}}},
	{"stopping, dumping", plain, []Input{Start{}, Started{1}, Stop{}, Due{}}},
	{"stopping, killed", plain, []Input{Start{}, Started{1}, Stop{}, Due{}, Due{}}},
	{"stopping to restart, hook killed", hook, []Input{Start{}, Restart{}}},
	{"stopping to restart, asked", plain, []Input{Start{}, Started{1}, Restart{}}},
	{"stopped", plain, []Input{Start{}, Started{1}, Stop{}, Ended{1, Exit{}}}},
	{"finished", plain, []Input{Start{}, Started{1}, Ended{1, Exit{}}}},
	{"failed", plain, []Input{Start{}, Started{1}, Ended{1, bad}}},
	{"restart wait", redo, []Input{Start{}, Started{1}, Ended{1, bad}}},
}

// reach returns a process at the end of a way, and the time.
func reach(w way) (*Process, time.Time) {
	p, now := New(w.config, Record{}), epoch
	for _, in := range w.inputs {
		now = now.Add(time.Second)
		if in == (Due{}) {
			now = p.Deadline
		}
		p.Step(now, in)
	}
	return p, now
}

// inputs returns all inputs about a run.
func inputs(run uint64) []Input {
	return []Input{
		Start{},
		Stop{},
		Restart{},
		Due{},
		HookBegan{run},
		HookEnded{run, Exit{}},
		HookEnded{run, bad},
		Started{run},
		NotStarted{run, Exit{Code: 127}},
		Ended{run, Exit{}},
		Ended{run, bad},
		Ended{run, Exit{Signal: 9, Cause: OutOfMemory}},
		NodeDown{run},
	}
}

// TestAllPairs compares the outputs of each input in each state with testdata/pairs.txt.
func TestAllPairs(t *testing.T) {
	var b strings.Builder
	used := map[[2]int]bool{}
	states := map[State]bool{}
	for _, w := range ways {
		p, now := reach(w)
		states[p.State] = true
		fmt.Fprintf(&b, "%s (%v, %v)\n", w.name, p.State, p.Phase)
		for _, in := range inputs(p.Run) {
			p, _ := reach(w)
			at := now.Add(time.Second)
			if in == (Due{}) && !p.Deadline.IsZero() {
				at = p.Deadline
			}
			probe := New(w.config, p.Record)
			probe.now = at
			used[[2]int{int(p.State), int(in.note(probe))}] = true
			fmt.Fprintf(&b, "\t%-46s%s\n", strings.TrimPrefix(fmt.Sprintf("%T%+v", in, in), "life."), said(p.Step(at, in), p))
		}
	}
	if len(states) != len(stateNames) {
		t.Errorf("states that were looked at: %v", states)
	}
	for from, row := range table {
		for k := range row {
			if !used[[2]int{int(from), int(k)}] {
				t.Errorf("no input comes to %v in %v", k, from)
			}
		}
	}
	for u := range used {
		if _, known := table[State(u[0])][kind(u[1])]; !known && kind(u[1]) != ignored {
			t.Errorf("%v in %v is not in the table", kind(u[1]), State(u[0]))
		}
	}
	golden(t, "testdata/pairs.txt", b.String())
}

func said(out []Output, p *Process) string {
	if len(out) == 0 {
		return "(" + p.Phase.String() + ")"
	}
	var all []string
	for _, o := range out {
		all = append(all, o.String())
	}
	return strings.Join(all, "; ")
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if flag.Lookup("update").Value.String() == "true" { // of package coretest
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestOfAnotherRun checks that inputs about a run other than the last have no effect in any state.
func TestOfAnotherRun(t *testing.T) {
	for _, w := range ways {
		for _, run := range []uint64{0, 99} {
			for _, in := range inputs(run)[4:] {
				p, now := reach(w)
				if p.Run == run { // never started, so all runs are other runs
					continue
				}
				before := p.Record
				if out := p.Step(now, in); len(out) > 0 || p.Record != before {
					t.Errorf("%s: %T%v leads to %v", w.name, in, in, out)
				}
			}
		}
	}
}

// TestDueTooEarly checks that an early Due asks for the time again.
func TestDueTooEarly(t *testing.T) {
	for _, w := range ways {
		p, now := reach(w)
		before := p.Record
		out := p.Step(now, Due{})
		want := []Output(nil)
		if !p.Deadline.IsZero() {
			want = []Output{Wake{p.Deadline}}
		}
		if !slices.Equal(out, want) || p.Record != before {
			t.Errorf("%s: got %v, want %v", w.name, out, want)
		}
	}
}

var docLine = regexp.MustCompile(`(?m)^//\t([a-z]+(?: wait)?) {2,}([a-z-]+) {2,}([a-z]+(?: wait)?)$`)

// TestDocumentation checks that the package comment lists the transitions of the table.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var listed, want []string
	for _, m := range docLine.FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, strings.Join(m[1:], "/"))
	}
	for from, row := range table {
		for _, c := range row {
			if c.event != "" {
				want = append(want, fmt.Sprintf("%v/%s/%v", from, c.event, c.to))
			}
			if c.does == resume {
				want = append(want, fmt.Sprintf("%v/restarted/%v", from, Starting))
			}
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(listed, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(listed, "\n"), strings.Join(want, "\n"))
	}
}

func TestWait(t *testing.T) {
	seconds := func(all ...float64) (d []time.Duration) {
		for _, s := range all {
			d = append(d, time.Duration(s*float64(time.Second)))
		}
		return d
	}
	for _, test := range []struct {
		rule Rule
		want []time.Duration
	}{
		{Rule{}, seconds(1, 2, 4, 8, 16, 32, 60, 60)},
		{Rule{Delay: 5 * time.Second, MaxDelay: 30 * time.Second}, seconds(5, 10, 20, 30, 30)},
		{Rule{Delay: 5 * time.Second, MaxDelay: 20 * time.Second}, seconds(5, 10, 20, 20)},
		{Rule{Delay: 2 * time.Minute}, seconds(120, 120)},
		{Rule{Delay: time.Minute, MaxDelay: time.Second}, seconds(60, 60)},
	} {
		for n, want := range test.want {
			if got := test.rule.Wait(n); got != want {
				t.Errorf("%+v: wait %d is %v, want %v", test.rule, n, got, want)
			}
		}
		if got := test.rule.Wait(1 << 40); got != test.rule.LastDelay() {
			t.Errorf("%+v: after very many, the wait is %v", test.rule, got)
		}
	}
}

// TestBackOff checks that delays double while runs are short, and start over after a long run or a
// start by request.
func TestBackOff(t *testing.T) {
	p, now := New(redo, Record{}), epoch
	p.Step(now, Start{})
	fail := func(after time.Duration) time.Duration {
		t.Helper()
		p.Step(now, Started{p.Run})
		now = now.Add(after)
		p.Step(now, Ended{p.Run, bad})
		if p.State != Waiting {
			t.Fatalf("%v", p.Record)
		}
		return p.Deadline.Sub(now)
	}
	goOn := func() { now = p.Deadline; p.Step(now, Due{}) }
	var got []time.Duration
	for _, ran := range []time.Duration{0, 0, 0, time.Minute, 59 * time.Second} {
		got = append(got, fail(ran))
		goOn()
	}
	got = append(got, fail(0))
	p.Step(now, Start{})
	got = append(got, fail(0))
	if want := "[1s 2s 4s 1s 2s 4s 1s]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestRuleOfStarts checks that a failed start by request is not repeated, but one by the rule is.
func TestRuleOfStarts(t *testing.T) {
	p := New(rehook, Record{})
	p.Step(epoch, Start{})
	p.Step(epoch, HookEnded{1, bad})
	if p.State != Failed || p.Exit != (Exit{Code: 7, Cause: HookFailed}) {
		t.Errorf("asked for: %+v", p.Record)
	}
	p, now := reach(ways[7])
	p.Step(now, HookEnded{p.Run, bad})
	if p.State != Waiting || p.Restarts != 2 {
		t.Errorf("by the rule: %+v", p.Record)
	}
}

// TestHookThatBeginsLate checks that a hook has all its time from its begin on, and that one that
// begins after a stop is killed, too.
func TestHookThatBeginsLate(t *testing.T) {
	p, now := New(hook, Record{}), epoch
	p.Step(now, Start{})
	now = now.Add(HookTimeout + time.Second)
	p.Step(now, Due{})
	p.Step(now, HookBegan{1})
	now = now.Add(HookTimeout - time.Second)
	p.Step(now, Due{})
	if out := p.Step(now, HookEnded{1, Exit{}}); !slices.Contains(out, Output(Launch{1})) {
		t.Errorf("a hook within its time leads to %v", out)
	}
	p, now = New(hook, Record{}), epoch
	p.Step(now, Start{})
	p.Step(now, Stop{})
	p.Step(now, HookBegan{1})
	for range 3 {
		now = now.Add(KillInterval)
		if out := p.Step(now, Due{}); !slices.Contains(out, Output(KillHook{1})) {
			t.Errorf("a hook that has begun after a stop leads to %v", out)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, test := range []struct {
		got  fmt.Stringer
		want string
	}{
		{State(200), "state 200"},
		{Exit{}, "exit 0"},
		{Exit{Signal: 9, Cause: OutOfMemory}, "signal 9 (out of memory)"},
		{Send{1, 10}, "send 10 to run 1"},
		{Wake{}, "wake never"},
		{hooked, "hook ended well"},
	} {
		if got := test.got.String(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
