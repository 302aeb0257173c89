package space

import (
	"os"
	"path/filepath"
	"strconv"
)

// fileRuntime is how many microseconds of each second the processes of a cgroup may run with a
// real-time policy; 0 for a new cgroup. It exists where the kernel has real-time groups
// (CONFIG_RT_GROUP_SCHED, version 1: Documentation/scheduler/sched-rt-group.rst).
const fileRuntime = "cpu.rt_runtime_us"

// realtime is the time for the space's cgroup. bpinit's fence has been seen to use two thirds of
// it, in storms of forks with few numbers. A process that has used it all waits for the next
// second.
const realtime = 50_000

// allowRealtime lets bpinit's fence have a real-time policy where its cgroup would forbid it. Where
// the cgroups above have no time to give, the fence goes without; then it can be too late on an
// overloaded machine.
func (s *Space) allowRealtime() error {
	state, err := s.container.State()
	if err != nil {
		return err
	}
	dir := state.CgroupPaths["cpu"]
	if _, err := os.Stat(filepath.Join(dir, fileRuntime)); dir == "" || err != nil {
		return nil
	}
	for _, dir := range []string{filepath.Dir(dir), dir} { // first bproc's cgroup, which is new, too
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
