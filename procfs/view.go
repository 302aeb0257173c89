package procfs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/procfs/guard"
	"bproc/procfs/scout"
	"bproc/wire"
)

// fsName is the name of the view in a list of mounts, with type fuse.bpprocfs.
const fsName = "bpprocfs"

// Config is the configuration of a view.
type Config struct {
	// Mountpoint is the directory that the view is mounted on.
	Mountpoint string

	// Keep leaves the real procfs mounted on the mount point when the view ends, and mounts the
	// next view on top of it. Mount namespaces that have copies of both mounts (see bpns(1)) see
	// the real procfs in between, and then the next view.
	Keep bool

	// Space is a process whose mount namespace has the real procfs; 0: this process's.
	Space int

	// Local is for a view on a node. It reports whether a process of the real procfs is shown that
	// the Source does not know; on the front end, all are. Processes that the Source knows are
	// always shown.
	Local func(wire.PID) bool

	// Awaited reports whether the Source will have to know a process of the real procfs: a ghost on
	// the front end. When a program reads such a process that the Source does not know, nodes are
	// asked at once. Nil: none.
	Awaited func(wire.PID) bool

	// Births blocks until the count of births differs from after, and returns it; after 0 it
	// returns at once. New processes are made known to the kernel when they have lived for some
	// seconds, before any program reads them. Nil: nodes are asked only when a program reads.
	Births func(ctx context.Context, after uint64) (uint64, error)

	// Ready is called when the view can be used.
	Ready func()

	// Guard is the argument vector with which this program calls [guard.Run]: it frees readers if
	// this process is killed. Empty: there is no guard.
	Guard []string

	// Scout is the argument vector with which this program calls [scout.Run], with the mount point as
	// another argument: it has the kernel know many processes before programs read them. Empty: a
	// first look takes longer.
	Scout []string
}

// View is the procfs of a cluster.
type View struct {
	cfg    Config
	source Source
	log    *slog.Logger
	real   real
	own    real  // of this process; the same as real, except for the view of a space
	since  int64 // seconds since 1970: the time of files that are as old as the view
	deaf   time.Duration

	// inflight bounds the bytes of requests that are being answered; 0: no bound. Only tests set
	// it.
	inflight int

	// statfs is called when the kernel asks for the answer to statfs(2); nil: nothing. Only tests
	// set it.
	statfs func()

	table     *table
	rounds    *rounds
	strangers *strangers
	news      *news
	kept      *kept
	warmer    *warmer
	preparer  *preparer
	scout     *scout.Scout // nil: none

	kernel *fuse.Server // nil before the mount
	device device
	number uint64 // of its file system, if this process has mounted it

	// inside means that the real procfs is mounted in the view; else links lead to it outside of
	// the view.
	inside bool
	tree   int // of the real procfs, to be mounted in the view; -1: none

	mu        sync.RWMutex
	processes map[wire.PID]*process // only the refresher changes it

	lastBorn uint64 // owned by the refresher
}

// New returns a view that shows what the source knows.
func New(cfg Config, source Source, log *slog.Logger) *View {
	v := &View{
		cfg:       cfg,
		source:    source,
		log:       log,
		since:     time.Now().Unix(),
		deaf:      deaf,
		device:    noDevice,
		tree:      -1,
		rounds:    newRounds(),
		strangers: newStrangers(),
		news:      newNews(),
		kept:      newKept(),
		processes: map[wire.PID]*process{},
	}
	v.news.tell = v.tellKernel
	v.warmer = &warmer{view: v, wanted: make(chan chan<- struct{})}
	v.preparer = &preparer{view: v, spell: spell, pause: pause}
	v.table = newTable(&rootDir{folder: folder{mode: 0o555, since: v.since}, view: v})
	return v
}

// Run mounts the view and serves it until the context ends, or until it is unmounted. Programs that
// are in the view then, or have files of it open, may use it until this process ends, which should
// be soon.
func (v *View) Run(ctx context.Context) error {
	at, err := filepath.Abs(v.cfg.Mountpoint)
	if err != nil {
		return fmt.Errorf("mount point %s: %w", v.cfg.Mountpoint, err)
	}
	v.cfg.Mountpoint = at
	if v.cfg.Guard == nil {
		return v.run(ctx, func(string) error { return nil })
	}
	return guard.While(v.cfg.Guard, func(g *guard.Guard) error { return v.run(ctx, g.Watch) })
}

// run mounts the view, has it watched, and serves it.
func (v *View) run(ctx context.Context, watch func(mountpoint string) error) (err error) {
	inUse := false
	defer func() {
		if !inUse { // else the programs that use it still read the real procfs
			v.closeReal()
		}
	}()
	if err := v.openReal(); err != nil {
		return err
	}
	if err := v.prepare(); err != nil {
		return err
	}
	if v.inside {
		if v.tree, err = copyProc(v.cfg.Space, true); err != nil { // now: the view may cover it
			return err
		}
		defer v.closeTree()
	}
	if v.startScout() { // now: this program must not be looked for in the view
		defer func() { err = errors.Join(err, v.scout.Close()) }()
	}
	if v.kernel, err = v.mount(); err != nil {
		return unmounted(v.cfg.Mountpoint, err)
	}
	inUse, err = v.serve(ctx, watch)
	return err
}

// startScout starts the scout, and reports whether there is one. The view can do without it.
func (v *View) startScout() bool {
	if v.cfg.Scout == nil {
		return false
	}
	var err error
	if v.scout, err = scout.Start(v.cfg.Scout, v.cfg.Mountpoint); err != nil {
		v.scout = nil
		v.log.Warn("first looks at many processes will take longer", "err", fmt.Errorf("start the scout: %w", err))
	}
	return v.scout != nil
}

// openReal opens the real procfs.
func (v *View) openReal() (err error) {
	if v.real, err = openReal(v.cfg.Space); err != nil {
		return err
	}
	v.own, v.inside = v.real, v.real.mountable
	if v.cfg.Space != 0 {
		v.own, err = openReal(0)
	}
	return err
}

// closeReal closes what openReal has opened.
func (v *View) closeReal() {
	v.real.close()
	if v.cfg.Space != 0 {
		v.own.close()
	}
}

// serve serves the mounted view until it is unmounted. It does not wait for programs that stay in
// it, and reports whether there are some.
func (v *View) serve(ctx context.Context, watch func(mountpoint string) error) (inUse bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() { defer close(served); defer cancel(); v.kernel.Serve() }() // as long as a program uses it
	group, ctx := errgroup.WithContext(ctx)
	if v.scout != nil {
		defer context.AfterFunc(ctx, v.scout.Kill)() // or the end would wait for its looks
	}
	group.Go(func() error { return v.refresher(ctx) })
	group.Go(func() error { return v.news.run(ctx) })
	group.Go(func() error { return v.warmer.run(ctx) })
	group.Go(func() error {
		err := watch(v.cfg.Mountpoint)
		if err == nil {
			err = v.open(ctx, v.kernel)
		}
		if err == nil && v.scout != nil {
			err = v.preparer.run(ctx)
		}
		if err == nil {
			<-ctx.Done()
		}
		return errors.Join(err, v.unmount(v.kernel))
	})
	err = group.Wait()
	select {
	case <-served:
		return false, err
	case <-time.After(farewell):
		return true, err
	}
}

// Answers returns when the mounted view has answered a request. A view that is killed meanwhile
// does not wait for itself.
func (v *View) Answers() error {
	return v.device.apart(func() error {
		var fs unix.Statfs_t
		if err := unix.Statfs(v.cfg.Mountpoint, &fs); err != nil {
			return fmt.Errorf("statfs %s: %w", v.cfg.Mountpoint, err)
		}
		return nil
	})
}

// farewell is how long an unmounted view is served for the programs that still use it.
const farewell = time.Second

// options returns the mount options.
func (v *View) options() *fuse.MountOptions {
	return &fuse.MountOptions{
		Name:       fsName,
		FsName:     fsName,
		AllowOther: mayAllowOthers(),
		// The view is read-only, so the kernel keeps no times of access, and does not ask for
		// the attributes of a directory again after listing it (fuse_invalidate_atime of
		// fs/fuse/dir.c).
		Options:                  []string{"default_permissions", "ro"}, // as mountDevice has them
		MaxWrite:                 maxRead,
		MaxInflightRequestBytes:  v.inflight,
		DisableXAttrs:            true,
		EnableSymlinkCaching:     true,
		ExplicitDataCacheControl: true,
		Logger:                   slog.NewLogLogger(v.log.Handler(), slog.LevelDebug),
		PanicHandler: func(what any) fuse.Status {
			v.log.Error("the view has a flaw; a reader got EIO", "err", what)
			return fuse.EIO
		},
	}
}

// passage returns the path of the real procfs from a directory of the view that is depth levels
// below its root.
func (v *View) passage(depth int) string {
	if !v.inside {
		return "/proc/"
	}
	return strings.Repeat("../", depth) + own + "/" + passage + "/"
}
