package procevents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// DefaultRing is the size of the ring buffer in bytes if none is given: room for 262,000 records,
// which two processors need at least three seconds to make.
const DefaultRing = 16 << 20

// gather is how long [Source.Wait] lets records gather once there is one. Most parents have waited
// by then for a process that has ended.
const gather = 2 * time.Millisecond

// Config says what a [Source] watches.
type Config struct {
	Namespace uint64   // inode of the PID namespace, see [Namespace]
	FrontEnd  wire.PID // processes with numbers below are started by init, which reports their births and ends
	Ring      int      // bytes, a power of two and a multiple of the page size; 0: DefaultRing
}

// Source reads the records and the notices of one process space. Wait and Attend may each be called
// by one goroutine, everything else by any.
type Source struct {
	objects processObjects // of a Source that has loaded the programs
	links   []link.Link    // the same
	files   []*os.File     // as Files returns them
	wake    *os.File       // a duplicate of the ring's descriptor, in the runtime's poller

	mu     sync.Mutex
	closed bool
	woken  bool // Wake was called since Wait has returned
	ring   *ring
	heard  uint64 // urgent records, when the ring was last read

	mapped   sync.RWMutex // held while ring is unmapped
	unmapped bool

	notices notices // not under mu, which is held while records are read
}

// Namespace returns the inode of the PID namespace of a process.
func Namespace(pid int) (uint64, error) {
	var st unix.Stat_t
	path := fmt.Sprintf("/proc/%d/ns/pid", pid)
	if err := unix.Stat(path, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return st.Ino, nil
}

// Open loads the program and attaches it. From then on records are kept.
func Open(cfg Config) (*Source, error) {
	if cfg.Ring == 0 {
		cfg.Ring = DefaultRing
	}
	// Before Linux 5.11 maps count against RLIMIT_MEMLOCK; on later kernels this does nothing.
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, explain(err)
	}
	s := &Source{}
	if err := s.load(cfg); err != nil {
		_ = s.Close() // err says more
		return nil, err
	}
	return s, nil
}

func (s *Source) load(cfg Config) error {
	spec, err := loadProcess()
	if err != nil {
		return fmt.Errorf("read the BPF object: %w", err)
	}
	spec.Maps[processMapRing].MaxEntries = uint32(cfg.Ring)
	spec.Maps[processMapNotices].MaxEntries = noticesRing
	err = errors.Join(
		spec.Variables[processVarSpace].Set(uint32(cfg.Namespace)),
		spec.Variables[processVarFrontEnd].Set(uint32(cfg.FrontEnd)),
		spec.Variables[processVarPlenty].Set(uint32(cfg.Ring/2)),
		spec.Variables[processVarMost].Set(uint32(cfg.Ring-cfg.Ring/4)),
	)
	if err != nil {
		return fmt.Errorf("set constants of the BPF object: %w", err)
	}
	old := oneFork(spec)
	if err := spec.LoadAndAssign(&s.objects, nil); err != nil {
		return explain(err)
	}
	if o := &s.objects; old {
		o.OnFork, o.OnForkOld = o.OnForkOld, o.OnFork
	}
	for _, m := range []*ebpf.Map{s.objects.Ring, s.objects.Notices, s.objects.Controls} {
		if err := s.addFile(m); err != nil {
			return err
		}
	}
	if err := s.begin(cfg); err != nil {
		return err
	}
	return s.attach()
}

// oneFork empties one of the two programs for births: the one that this kernel cannot load, or that
// takes long to load. It returns whether that is OnFork.
func oneFork(spec *ebpf.CollectionSpec) (old bool) {
	old = features.HaveProgramHelper(ebpf.RawTracepoint, asm.FnLoop) != nil
	other := processProgOnForkOld
	if old {
		other = processProgOnFork
	}
	spec.Programs[other].Instructions = asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
	return old
}

// begin maps the memory that the programs write to.
func (s *Source) begin(cfg Config) (err error) {
	if s.ring, err = newRing(descriptor(s.files[fileRing]), cfg.Ring); err != nil {
		return err
	}
	if err := s.notices.open(descriptor(s.files[fileNotices]), descriptor(s.files[fileControls])); err != nil {
		return err
	}
	s.wake, err = s.File()
	return err
}

func (s *Source) attach() error {
	for _, tp := range []struct {
		name   string
		attach func(name string) (link.Link, error)
	}{
		{"sched_process_fork", raw(s.objects.OnFork)},
		{"sched_process_exec", raw(s.objects.OnExec)},
		{"sched_process_exit", raw(s.objects.OnExit)},
		{"signal_generate", raw(s.objects.OnSignal)},
		{"sched_switch", func(string) (link.Link, error) {
			return link.AttachTracing(link.TracingOptions{Program: s.objects.OnSwitch})
		}},
	} {
		l, err := tp.attach(tp.name)
		if err != nil {
			return explain(fmt.Errorf("attach to %s: %w", tp.name, err))
		}
		s.links = append(s.links, l)
		if err := s.addFile(l); err != nil {
			return err
		}
	}
	return nil
}

func raw(program *ebpf.Program) func(name string) (link.Link, error) {
	return func(name string) (link.Link, error) {
		return link.AttachRawTracepoint(link.RawTracepointOptions{Name: name, Program: program})
	}
}

// File returns a new descriptor of the ring buffer, non-blocking.
func (s *Source) File() (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(descriptor(s.files[fileRing])), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicate the ring's descriptor: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("set the ring's descriptor non-blocking: %w", err)
	}
	return os.NewFile(uintptr(fd), "bpf-ringbuf"), nil
}

// Read calls f, in order, for each record that was reserved before the call and has not been read.
// It does not wait for others. f gets the record's position in the ring, and must not call the
// Source. The record stays there until Release.
func (s *Source) Read(f func(r Record, at uint64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.heard = s.urgent() // those that come from here on wake Wait, even if they are read below
		s.ring.read(f)
	}
}

// Position returns the position in the ring of the next record to be read.
func (s *Source) Position() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0
	}
	return s.ring.at
}

// Produced returns the position in the ring of the next record to be noted. It does not wait for
// readers.
func (s *Source) Produced() uint64 {
	s.mapped.RLock()
	defer s.mapped.RUnlock()
	if s.unmapped {
		return 0
	}
	return s.ring.produced()
}

// Release gives up the records before a position: the next reader, in another daemon, does not read
// them. While records are kept that were read, Wait does not wait, unless it is told until when.
func (s *Source) Release(at uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.ring.release(at)
	}
}

// Seek continues reading at a position, if the records from there on are still in the ring.
func (s *Source) Seek(at uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && at > s.ring.at && at <= s.ring.produced() {
		s.ring.at = at
	}
}

// Wake has Wait return at once, or the next one if nobody waits.
func (s *Source) Wake() {
	s.mu.Lock()
	s.woken = true
	s.mu.Unlock()
	s.wake.SetReadDeadline(time.Unix(1, 0))
}

// Wait returns when there may be records to drain, a little later than the first of them came, or
// after Wake. With a time until, it returns then; if records are kept that were read, no other
// records end it sooner than those of processes that have been reported (see [Source.Told]). It
// returns the cause when ctx ends, and os.ErrClosed after Close.
func (s *Source) Wait(ctx context.Context, until time.Time) error {
	s.wake.SetReadDeadline(until) // errors of a closed file show below
	stop := context.AfterFunc(ctx, func() { s.wake.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	conn, err := s.wake.SyscallConn()
	if err != nil {
		return fmt.Errorf("wait for process records: %w", err)
	}
	// The runtime's poller waits for edges, and the kernel makes one only while the ring holds
	// something. If another goroutine drains the ring first there is no edge, and none is needed:
	// the next record makes its own.
	s.setWaiting(1) // before pending looks for urgent records
	err = conn.Read(func(uintptr) bool { return s.pending(!until.IsZero()) })
	s.setWaiting(0)
	woken := s.wasWoken()
	switch {
	case s.isClosed():
		return fmt.Errorf("wait for process records: %w", os.ErrClosed)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case (woken || errors.Is(err, os.ErrDeadlineExceeded)) && !s.hasUrgent(): // the deadline may come behind the wake-up
		return nil
	case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("wait for process records: %w", err)
	}
	timer := time.NewTimer(gather)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Source) pending(keeps bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed, s.woken:
		return true
	case keeps && s.ring.keeps():
		return s.heard != s.urgent()
	default:
		return !s.ring.empty()
	}
}

// hasUrgent reports whether there are records of reported processes that were not read.
func (s *Source) hasUrgent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard != s.urgent()
}

func (s *Source) wasWoken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	woken := s.woken
	s.woken = false
	return woken
}

func (s *Source) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close ends Wait. If no other process has Files, it detaches the programs, and records that were
// not read are lost.
func (s *Source) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true // from here on nobody touches the mappings
	s.mu.Unlock()
	if closed {
		return nil
	}
	var errs []error
	for _, l := range s.links {
		errs = append(errs, l.Close())
	}
	if s.wake != nil {
		errs = append(errs, s.wake.Close()) // waits for Wait, which may want the lock
	}
	errs = append(errs, s.notices.close())
	s.mapped.Lock()
	defer s.mapped.Unlock()
	s.unmapped = true
	if s.ring != nil {
		errs = append(errs, s.ring.close())
	}
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(append(errs, s.objects.Close())...)
}
