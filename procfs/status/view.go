package status

import (
	"cmp"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// View records what one viewer has been told. It belongs to one goroutine.
type View struct {
	c      *Collector
	root   bool
	latest *census // completely told
	told   map[wire.PID]told
}

// told is a process in the version that was last told.
type told struct {
	process
	parent  wire.PID
	environ uint64 // a hash; 0: not told
	locked  bool   // its cmdline or environment could not be read
	uid     uint32 // if locked: its user
}

// View returns a new View, which has told nothing yet. With root it tells environments.
func (c *Collector) View(root bool) *View {
	return &View{c: c, root: root, told: map[wire.PID]told{}}
}

// Refresh calls tell with the changes since the last call: as of this call if pressing, else possibly
// slightly older. Changes that could not be told because of an error are lost to this View.
func (v *View) Refresh(pressing bool, tell func(*wire.Changed) error) error {
	now, err := v.c.census(pressing)
	if err != nil || now == v.latest {
		return err
	}
	b := &batch{tell: tell}
	for some := range slices.Chunk(v.changed(now), readTogether) {
		if err := v.tell(some, b); err != nil {
			return err
		}
	}
	v.latest = now
	return v.ended(now, b)
}

// changed returns the processes that differ from what was told, by number.
func (v *View) changed(now *census) (all []subject) {
	for pid, p := range now.procs {
		if p.start == 0 {
			continue // its first thread was missing at that moment
		}
		is := told{process: p, parent: v.c.cfg.Parent(pid)}
		was := v.told[pid]
		if was.start != is.start || was.value != is.value || was.groups != is.groups || was.parent != is.parent ||
			was.locked && !v.c.locked.has(owned{pid, was.start, was.uid}) {
			all = append(all, subject{pid: pid, is: is, was: was, dir: -1})
		}
	}
	// In the order in which programs read them: the first ones arrive before they are read.
	slices.SortFunc(all, func(a, b subject) int { return cmp.Compare(a.pid, b.pid) })
	return all
}

// tell reports some processes.
func (v *View) tell(some []subject, b *batch) error {
	defer func() {
		for i := range some {
			some[i].close()
		}
	}()
	if err := v.c.locked.read(v.cmdlines(), some); err != nil {
		return err
	}
	if v.root {
		if err := v.c.locked.read(environs, some); err != nil {
			return err
		}
	}
	for i := range some {
		s := &some[i]
		if s.texts == nil {
			continue
		}
		v.told[s.pid] = s.is
		if err := b.add(s.texts, s.environ); err != nil {
			return err
		}
	}
	return nil
}

// cmdlines returns how cmdline is read, after the other texts for all users.
func (v *View) cmdlines() memoryFile {
	hasFailed := func(s *subject, err error) bool {
		if err != nil && !isGone(err) && !errors.Is(err, errLocked) { // gone: the next census lacks it, or has another process
			v.c.cfg.Log.Warn("a process cannot be shown", "pid", s.pid, "err", err)
		}
		return err != nil
	}
	return memoryFile{
		name: "cmdline", reader: everybody,
		before: func(r *reader, s *subject) bool { return !hasFailed(s, s.read(r, int(v.c.cfg.Proc.Fd()))) },
		after: func(s *subject, text []byte, err error) {
			hasFailed(s, err)
			s.takeCmdline(text, err)
		},
	}
}

// environs reads environ as root.
var environs = memoryFile{
	name:   "environ",
	before: func(_ *reader, s *subject) bool { return s.texts != nil },
	after:  (*subject).takeEnviron,
}

// ended reports the processes that have ended.
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

// batch collects reports into messages.
type batch struct {
	tell     func(*wire.Changed) error
	next     wire.Changed
	environs map[string]int32 // index in next.Environs plus 1
	size     int
}

// messageSize is the size at which a message is sent, in bytes: a small part of wire.MaxMessage, so
// that one more process fits.
const messageSize = 128 << 10

// add adds a process. Environ is its environment, if it is to be sent.
func (b *batch) add(t *wire.Texts, environ []byte) error {
	if environ != nil {
		t.Environ = b.environ(environ)
	}
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

// environ returns the index plus 1 of an environment in the message, which it adds if needed.
func (b *batch) environ(text []byte) int32 {
	which, has := b.environs[string(text)]
	if !has {
		b.next.Environs = append(b.next.Environs, text)
		b.size += len(text)
		which = int32(len(b.next.Environs))
		if b.environs == nil {
			b.environs = map[string]int32{}
		}
		b.environs[string(text)] = which
	}
	return which
}

func (b *batch) flush() error {
	if len(b.next.Procs) == 0 && len(b.next.Ended) == 0 {
		return nil
	}
	m := b.next
	b.next, b.size = wire.Changed{}, 0
	clear(b.environs)
	return b.tell(&m)
}
