package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// jobTimeout is more than a job takes, with all faults that can affect it: it may wait for signals in vain, and end
// in a long cut. signalTime is far more than its signals take.
var (
	jobTimeout = limit.Scaled(75 * time.Second)
	signalTime = limit.Scaled(30 * time.Second)
)

// codeLost is the status of a job that has waited for its signals in vain. A keeper that is killed
// may have taken one (bpkeeper(8)); no other fault can lose one and leave the job alive.
const codeLost = 250

// chaosJob is a run of testdata/chaos.c.
type chaosJob struct {
	id      int
	node    int
	user    cluster.User
	seed    int
	length  time.Duration
	input   int // bytes
	signals int

	began, ended time.Time
	hung         bool
	code         int
	stdout       firstLine
	stderr       bytes.Buffer
}

// firstLine keeps output and reports when its first line has arrived.
type firstLine struct {
	text  bytes.Buffer  // not embedded: its ReadFrom would be used instead of Write
	seen  chan struct{} // closed when first is set
	once  sync.Once
	first string
}

func (f *firstLine) Write(b []byte) (int, error) {
	n, err := f.text.Write(b)
	if bytes.IndexByte(b, '\n') >= 0 {
		f.once.Do(func() {
			f.first = f.text.String()
			close(f.seen)
		})
	}
	return n, err
}

// run runs the job to its end.
func (j *chaosJob) run(w *workload) {
	ctx, cancel := context.WithTimeout(w.t.Context(), jobTimeout)
	defer cancel()
	cmd := w.c.Front.Command(ctx, j.user, "bpsh", fmt.Sprint(j.node), w.program, w.records, fmt.Sprint(j.id), fmt.Sprint(j.seed),
		fmt.Sprint(j.length.Milliseconds()), fmt.Sprint(j.input), fmt.Sprint(j.signals),
		fmt.Sprint(signalTime.Milliseconds()))
	j.stdout.seen = make(chan struct{})
	cmd.Stdout, cmd.Stderr = &j.stdout, &j.stderr
	if j.input > 0 {
		cmd.Stdin = &jobInput{id: j.id, left: j.input, pause: j.length / 20}
	}
	ended := make(chan struct{})
	var signals sync.WaitGroup
	signals.Go(func() { j.signal(w, ended) })
	j.began = time.Now()
	err := cmd.Run()
	j.ended = time.Now()
	close(ended)
	signals.Wait()
	j.hung = ctx.Err() != nil
	j.code = -1
	if cmd.ProcessState != nil {
		j.code = cmd.ProcessState.ExitCode()
	} else {
		w.t.Errorf("job %d: %v", j.id, err)
	}
}

// signal sends the job its signals, as soon as its number is known.
func (j *chaosJob) signal(w *workload, ended <-chan struct{}) {
	select {
	case <-j.stdout.seen:
	case <-ended:
		return
	}
	pid := j.pid()
	if pid == 0 {
		return // check reports the error
	}
	const sigrtmin = unix.Signal(34) // of glibc (signal(7))
	for value := range j.signals {
		select {
		case <-time.After(j.length / 30):
		case <-ended:
			return
		}
		if err := w.c.Front.Queue(pid, sigrtmin, uintptr(value)); err != nil {
			return
		}
	}
}

// pid returns the job's process number; 0 if the job has not printed it.
func (j *chaosJob) pid() int {
	var id, process, number, pid int
	if _, err := fmt.Sscanf(j.stdout.first, "out %d %d %d %d", &id, &process, &number, &pid); err != nil {
		return 0
	}
	return pid
}

// jobInput is the pattern that a job expects, slowly.
type jobInput struct {
	id    int
	at    int
	left  int
	pause time.Duration
}

func (in *jobInput) Read(b []byte) (int, error) {
	if in.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(in.pause)
	n := min(len(b), in.left)
	for i := range n {
		b[i] = byte(in.at*7 + in.at/251 + in.id)
		in.at++
	}
	in.left -= n
	return n, nil
}

// check compares the results of the job with the expected ones. A job that has not begun may have
// been refused. Signals may be lost if the keeper was killed.
func (j *chaosJob) check(of []record, harmed, keeperKilled bool, refusals []string) error {
	begins, ends := firsts(of, "begin"), firsts(of, "end")
	stdout, stderr := j.stdout.text.String(), j.stderr.String()
	switch {
	case j.hung:
		return fmt.Errorf("it had not ended after %v; began %d times, ended %d times; %d bytes of output; on standard error %.300q", jobTimeout, begins, ends, len(stdout), stderr)
	case j.code == codeLost && !keeperKilled:
		return fmt.Errorf("not all of its %d signals have come", j.signals)
	case begins > 1:
		return fmt.Errorf("it began %d times", begins)
	case harmed && j.code != j.id%200:
		return nil
	case begins == 0 && j.refused(refusals):
		return nil
	case strings.Contains(stdout, "WRONG"):
		return errors.New(stdout[strings.Index(stdout, "WRONG"):])
	case harmed:
		return nil
	case j.code != j.id%200:
		return fmt.Errorf("exit code %d, want %d; began %d times, ended %d times; %d bytes of output; on standard error %.300q", j.code, j.id%200, begins, ends, len(stdout), stderr)
	case ends != 1:
		return fmt.Errorf("it ended %d times", ends)
	}
	return errors.Join(whole(stdout, j.id), wholeErrors(stdout, stderr, j.id))
}

// firsts counts the records of one kind of the first process.
func firsts(of []record, what string) int {
	n := 0
	for _, r := range of {
		if r.process == 0 && r.what == what {
			n++
		}
	}
	return n
}

// refused reports whether bpsh has printed one of these messages, and has failed itself.
func (j *chaosJob) refused(refusals []string) bool {
	said := func(text string) bool { return strings.Contains(j.stderr.String(), text) }
	return j.code == 255 && slices.ContainsFunc(refusals, said)
}

// whole checks that the output of each process of a job is complete and in order.
func whole(stdout string, id int) error {
	next := map[int]int{} // by process: the number of its next line
	ended := map[int]bool{}
	children := 0
	for line := range strings.Lines(stdout) {
		var who, process, number, errs, of int
		if _, err := fmt.Sscanf(line, "out %d %d %d", &who, &process, &number); err == nil {
			if who != id || number != next[process] || ended[process] {
				return fmt.Errorf("after line %d of process %d comes %.60q", next[process]-1, process, line)
			}
			next[process]++
			continue
		}
		if _, err := fmt.Sscanf(line, "last %d %d %d %d %d", &who, &process, &number, &errs, &of); err != nil || who != id || number != next[process] {
			return fmt.Errorf("after line %d of process %d comes %.60q", next[process]-1, process, line)
		}
		ended[process] = true
		if process == 0 {
			children = of
		}
	}
	for process := range children + 1 {
		if !ended[process] {
			return fmt.Errorf("the output of process %d is not whole: %d lines", process, next[process])
		}
	}
	return nil
}

// wholeErrors checks the standard error of the first process.
func wholeErrors(stdout, stderr string, id int) error {
	var who, outs, errs int
	last := stdout[strings.LastIndex(stdout, fmt.Sprintf("last %d 0 ", id)):]
	if _, err := fmt.Sscanf(last, "last %d 0 %d %d", &who, &outs, &errs); err != nil {
		return err
	}
	var want strings.Builder
	for i := range errs {
		fmt.Fprintf(&want, "err %d 0 %d\n", id, i)
	}
	if stderr != want.String() {
		return fmt.Errorf("standard error %.300q, want %d lines", stderr, errs)
	}
	return nil
}

// record is a record that a process has written on its node.
type record struct {
	what                     string // begin or end
	id, process, pid, status int
	at                       int64 // nanoseconds of CLOCK_MONOTONIC, which all machines here share
}

// jobRecords has all records, by job.
type jobRecords map[int][]record

func readRecords(file string) (jobRecords, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := jobRecords{}
	for line := range strings.Lines(string(text)) {
		var r record
		if _, err := fmt.Sscan(line, &r.what, &r.id, &r.process, &r.pid, &r.status, &r.at); err != nil {
			return nil, fmt.Errorf("record %q: %w", line, err)
		}
		all[r.id] = append(all[r.id], r)
	}
	return all, nil
}

// numbers checks that no number had two owners at a time. A process without a record of its end was
// killed at an unknown time.
func (all jobRecords) numbers() error {
	type life struct {
		record
		until int64
	}
	byNumber := map[int][]life{}
	for _, records := range all {
		begun := map[[2]int]record{}
		for _, r := range records {
			key := [2]int{r.process, r.pid}
			switch b, ok := begun[key]; {
			case r.what == "begin":
				begun[key] = r
			case !ok:
				return fmt.Errorf("%+v ended without having begun", r)
			default:
				byNumber[r.pid] = append(byNumber[r.pid], life{b, r.at})
			}
		}
	}
	for pid, lives := range byNumber {
		slices.SortFunc(lives, func(a, b life) int { return int(a.at - b.at) })
		for i := 1; i < len(lives); i++ {
			if lives[i].at < lives[i-1].until {
				return fmt.Errorf("number %d had two owners: %+v, %+v", pid, lives[i-1], lives[i])
			}
		}
	}
	return nil
}
