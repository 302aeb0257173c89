package status

import (
	"errors"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// View is what one viewer has been told. It belongs to one goroutine.
type View struct {
	c      *Collector
	latest *census // of which all is told
	told   map[wire.PID]told
}

// told is a process as it was told last.
type told struct {
	process
	parent wire.PID
}

// View returns a new View, which has told nothing yet.
func (c *Collector) View() *View { return &View{c: c, told: map[wire.PID]told{}} }

// Refresh calls tell with what has changed since the last call. What could not be
// told because of an error is lost to this View.
func (v *View) Refresh(tell func(*wire.Changed) error) error {
	now, err := v.c.census()
	if err != nil || now == v.latest {
		return err
	}
	return everybody.do(func() error {
		b := &batch{tell: tell}
		if err := v.changed(now, b); err != nil {
			return err
		}
		v.latest = now
		return v.ended(now, b)
	})
}

func (v *View) changed(now *census, b *batch) error {
	r := newReader(int(v.c.cfg.Proc.Fd()))
	for pid, p := range now.procs {
		if p.start == 0 {
			continue // its first thread was not there any more, or not yet
		}
		is := told{process: p, parent: v.c.cfg.Parent(pid)}
		was := v.told[pid]
		if was.start == is.start && was.value == is.value && was.groups == is.groups && was.parent == is.parent {
			continue
		}
		texts, err := r.all(pid, is, was)
		if err != nil { // the next census lacks it, or has another
			if !isGone(err) {
				v.c.cfg.Log.Warn("a process cannot be shown", "pid", pid, "err", err)
			}
			continue
		}
		v.told[pid] = is
		if err := b.add(texts); err != nil {
			return err
		}
	}
	return nil
}

// ended tells which processes are not there any more.
func (v *View) ended(now *census, b *batch) error {
	for pid := range v.told {
		if _, alive := now.procs[pid]; !alive {
			delete(v.told, pid)
			b.next.Ended = append(b.next.Ended, pid)
		}
	}
	return b.flush()
}

func isGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
}

// maxThreads bounds the threads of a process that are told.
const maxThreads = 16 << 10

// all returns the texts of a process with those of its threads that have changed.
func (r *reader) all(pid wire.PID, is, was told) (*wire.Texts, error) {
	t, err := r.texts(pid)
	if err != nil {
		return nil, err
	}
	t.Parent = is.parent
	if is.groups == 0 || is.groups != was.groups || is.start != was.start {
		if t.Cgroup, err = r.file(nil, pid.String(), "cgroup"); err != nil && !errors.Is(err, unix.ENOENT) { // there may be none
			return nil, err
		}
	}
	if len(is.threads) < 2 {
		return t, nil
	}
	before := map[wire.PID]thread{}
	if was.start == is.start && len(was.threads) > 1 {
		for _, th := range was.threads {
			before[th.tid] = th
		}
	}
	left := wire.MaxTexts
	for _, th := range is.threads[:min(len(is.threads), maxThreads)] {
		texts := wire.ThreadTexts{TID: th.tid}
		if before[th.tid] == th {
			texts.Same = true
		} else if left > 0 {
			if err := r.thread(pid, &texts); isGone(err) {
				continue
			} else if err != nil {
				return nil, err
			}
			left -= len(texts.Stat) + len(texts.Status)
		}
		t.Threads = append(t.Threads, texts)
	}
	return t, nil
}

// batch gathers what is told into messages.
type batch struct {
	tell func(*wire.Changed) error
	next wire.Changed
	size int
}

// messageSize is when a message is told, in bytes: a small part of what one may have
// (wire.MaxMessage), to which one process more can be added.
const messageSize = 128 << 10

func (b *batch) add(t *wire.Texts) error {
	b.next.Procs = append(b.next.Procs, *t)
	b.size += len(t.Stat) + len(t.Status) + len(t.Statm) + len(t.Cmdline) + len(t.Cgroup)
	for _, th := range t.Threads {
		b.size += len(th.Stat) + len(th.Status) + 16
	}
	if b.size < messageSize {
		return nil
	}
	return b.flush()
}

func (b *batch) flush() error {
	if len(b.next.Procs) == 0 && len(b.next.Ended) == 0 {
		return nil
	}
	m := b.next
	b.next, b.size = wire.Changed{}, 0
	return b.tell(&m)
}
