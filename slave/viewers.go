package slave

import (
	"log/slog"

	"bproc/procfs/status"
	"bproc/procfs/status/marks"
	"bproc/slave/pid1/standin"
	"bproc/slave/space"
	"bproc/wire"
)

// newViewers returns the server for looks at the processes of a space. stamp returns the number of
// the last event so far.
func newViewers(sp *space.Space, log *slog.Logger, stamp func() uint64) *status.Server {
	cfg := status.Config{Proc: sp.Proc(), Inner: true, Parent: sp.Parent, Log: log}
	marker, err := marks.New(uint64(sp.NSInode()))
	if err != nil {
		log.Warn("processes are looked at one by one, which takes longer", "err", err)
	} else {
		cfg.Marker = marker
	}
	proc := string(procIn(sp))
	standIn := func(pid wire.PID) bool { return standin.Is(proc, pid) }
	cfg.Hidden = func() func(wire.PID) bool { return standIn }
	return status.NewServer(cfg, stamp)
}
