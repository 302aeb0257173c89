package slave

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// view keeps bpprocfs(8) running from when the first process needs the cluster in /proc. It is not
// a process of the space, so no signal from there reaches it.
type view struct {
	log      *slog.Logger
	program  string        // bpprocfs
	socket   string        // of the lookout
	at       string        // the mount point, here and in the space
	init     int           // number of bpinit outside of the space
	within   time.Duration // time limit for a mount
	requests chan waiter
	over     chan struct{} // closed when run has ended
}

// waiter is a process that needs the view.
type waiter struct {
	answer chan<- error
	until  time.Time // it has given up then
}

// Time limits for a mount and for an end, and the pause between two starts, which grows as long as
// there is no view.
const (
	mountTime    = 10 * time.Second
	unmountTime  = 5 * time.Second
	viewPause    = 250 * time.Millisecond
	maxViewPause = 30 * time.Second
)

// errNoView is the error for a view that is not available.
var errNoView = fmt.Errorf("there is no view of the cluster: %w", unix.ENODEV)

func newView(cfg Config, init int, log *slog.Logger) *view {
	return &view{
		log: log, program: cfg.View, socket: socketOf(cfg), at: viewOf(cfg), init: init, within: mountTime,
		requests: make(chan waiter), over: make(chan struct{}),
	}
}

// socketOf returns the path of the lookout's socket.
func socketOf(cfg Config) string { return cfg.Runtime + ".sock" }

// viewOf returns where the view is mounted; empty: there is no view.
func viewOf(cfg Config) string {
	if cfg.View == "" {
		return ""
	}
	return filepath.Join(cfg.Runtime, "proc")
}

// need returns when the view is mounted.
func (v *view) need() error {
	late := time.After(v.within)
	answer := make(chan error, 1)
	select {
	case v.requests <- waiter{answer, time.Now().Add(v.within)}:
	case <-v.over:
		return errNoView
	case <-late: // run waits for the file system of a view that hangs
		return errNoView
	}
	select {
	case err := <-answer:
		return err
	case <-late:
		return errNoView
	}
}

// stillThere returns the waiters that have not given up.
func stillThere(waiting []waiter) []waiter {
	now := time.Now()
	return slices.DeleteFunc(waiting, func(w waiter) bool { return now.After(w.until) })
}

// run starts the view when it is needed, and again whenever it ends after that, until the
// context ends.
func (v *view) run(ctx context.Context) error {
	defer close(v.over)
	var now *viewProcess
	var waiting []waiter
	answer := func(err error) {
		for _, w := range waiting {
			w.answer <- err
		}
		waiting = nil
	}
	start := func() {
		var err error
		if now, err = v.start(); err != nil {
			v.log.Error("the view of the cluster cannot be started", "err", err)
			answer(errors.Join(err, errNoView))
		}
	}
	pause := viewPause
	again := time.NewTimer(0)
	defer again.Stop()
	if !v.used() {
		again.Stop()
	}
	for {
		select {
		case w := <-v.requests:
			if waiting = append(stillThere(waiting), w); now == nil {
				start()
			} else if now.mounted {
				answer(nil)
			}
		case <-again.C:
			if now == nil {
				start()
			}
		case <-now.isMounted():
			now.mounted, pause = true, viewPause
			answer(nil)
		case <-now.hasEnded():
			v.log.Warn("the view of the cluster has ended", "err", now.err)
			if now.mounted || v.used() {
				again.Reset(pause)
				pause = min(2*pause, maxViewPause)
			}
			now = nil
			answer(errNoView)
		case <-ctx.Done():
			now.stop()
			answer(context.Cause(ctx))
			return nil
		}
	}
}

// used reports whether there has been a view. A view leaves the real procfs mounted, unless it has
// died or is about to end with the former daemon.
func (v *view) used() bool {
	var here, above unix.Stat_t
	err := unix.Stat(v.at, &here)
	if err == nil {
		err = unix.Stat(filepath.Dir(v.at), &above)
	}
	return err == nil && here.Dev != above.Dev || errors.Is(err, unix.ENOTCONN)
}

// viewProcess is a running bpprocfs.
type viewProcess struct {
	cmd     *exec.Cmd
	life    *os.File // closing it ends the process
	mount   chan struct{}
	end     chan struct{}
	err     error // why it has ended; valid after that
	mounted bool  // owned by run
}

func (p *viewProcess) isMounted() <-chan struct{} {
	if p == nil || p.mounted {
		return nil
	}
	return p.mount
}

func (p *viewProcess) hasEnded() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.end
}

// start starts bpprocfs.
func (v *view) start() (*viewProcess, error) {
	ready, told, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	defer told.Close()
	lives, life, err := os.Pipe()
	if err != nil {
		ready.Close()
		return nil, fmt.Errorf("pipe: %w", err)
	}
	defer lives.Close()
	cmd := exec.Command(v.program, "--keep", "--space", strconv.Itoa(v.init), "--ready-fd", "3", "--life-fd", "4", v.at)
	cmd.ExtraFiles = []*os.File{told, lives}
	cmd.Stderr = os.Stderr
	cmd.Dir = "/"
	cmd.Env = []string{"BPROC_SOCKET=" + v.socket} // without the variables that the service manager set for this daemon
	if err := cmd.Start(); err != nil {
		ready.Close()
		life.Close()
		return nil, fmt.Errorf("start %s: %w", v.program, err)
	}
	_ = ready.SetReadDeadline(time.Now().Add(v.within)) // pipes have deadlines
	p := &viewProcess{cmd: cmd, life: life, mount: make(chan struct{}), end: make(chan struct{})}
	go p.follow(ready)
	return p, nil
}

// follow waits for the mount and for the end. It kills a process that does not mount in time.
func (p *viewProcess) follow(ready *os.File) {
	if n, _ := ready.Read(make([]byte, 1)); n == 1 {
		close(p.mount)
	} else {
		_ = p.cmd.Process.Kill() // fails if it has ended
	}
	ready.Close()
	p.err = p.cmd.Wait()
	p.life.Close()
	close(p.end)
}

// stop ends the process.
func (p *viewProcess) stop() {
	if p == nil {
		return
	}
	p.life.Close()
	select {
	case <-p.end:
	case <-time.After(unmountTime):
		_ = p.cmd.Process.Kill() // fails if it has ended
		<-p.end
	}
}
