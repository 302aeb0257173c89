package space

import (
	"os"
	"path/filepath"
	"strconv"
)

// fileRuntime is how many microseconds of each second those of a cgroup may run with a
// real-time policy, 0 of a new one, where the kernel has groups of these
// (CONFIG_RT_GROUP_SCHED, version 1: Documentation/scheduler/sched-rt-group.rst).
const fileRuntime = "cpu.rt_runtime_us"

// realtime is what the space's cgroup gets. Of this bpinit's fencer has been seen to use two
// thirds, in storms of forks among few numbers; who has used all waits for the next second.
const realtime = 50_000

// allowRealtime lets bpinit's fencer have a real-time policy where its cgroup would forbid it.
// Where the cgroups above have nothing to give, it goes without: then it can come too late on
// a machine that has more to do than it can.
func (s *Space) allowRealtime() error {
	state, err := s.container.State()
	if err != nil {
		return err
	}
	dir := state.CgroupPaths["cpu"]
	if _, err := os.Stat(filepath.Join(dir, fileRuntime)); dir == "" || err != nil {
		return nil
	}
	for _, dir := range []string{filepath.Dir(dir), dir} { // first bproc, which is new, too
		file := filepath.Join(dir, fileRuntime)
		if has, err := os.ReadFile(file); err == nil && string(has) != "0\n" {
			continue
		}
		if err := os.WriteFile(file, strconv.AppendInt(nil, realtime, 10), 0); err != nil {
			s.cfg.Log.Debug("process numbers are watched without a real-time policy", "err", err)
			return nil
		}
	}
	return nil
}
