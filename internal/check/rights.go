package check

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// capability is a capability of capabilities(7).
type capability struct {
	bit  uint
	name string
}

// Capabilities that the daemons of each side need, capabilities that they can do without, and those
// that ghosts get from their image (ghost.Install). A container may have taken them from root.
var (
	neededBits = map[Side][]capability{
		FrontEnd: {
			{unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
			{unix.CAP_KILL, "CAP_KILL"},
			{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
			{unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
		},
		Node: {
			{unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
			{unix.CAP_KILL, "CAP_KILL"},
			{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
			{unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
			{unix.CAP_SETUID, "CAP_SETUID"},
			{unix.CAP_SETGID, "CAP_SETGID"},
		},
	}
	wantedBits = []capability{{unix.CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE"}, {unix.CAP_SYS_NICE, "CAP_SYS_NICE"}}
	ghostBits  = []capability{
		{unix.CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE"}, {unix.CAP_SETUID, "CAP_SETUID"}, {unix.CAP_SETGID, "CAP_SETGID"},
	}
)

// missing names the capabilities that a set lacks.
func missing(set uint64, want []capability) string {
	var names []string
	for _, c := range want {
		if set&(1<<c.bit) == 0 {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, ", ")
}

// privileges checks the capabilities of the daemon or, if none runs, of this process of root.
func privileges(_ context.Context, s *subject) Result {
	if s.daemon == nil && !s.root() {
		return needsRoot("what root may do here")
	}
	p := s.nearest()
	set, err := p.capabilities("CapEff")
	if err != nil {
		return skip("capabilities of %v: %v", p, err)
	}
	const remedy = "run it outside of the container, or give the container these capabilities (in a unit: CapabilityBoundingSet)"
	if lacks := missing(set, neededBits[s.side]); lacks != "" {
		return fail(fmt.Sprintf("%v runs without %s", p, lacks), remedy)
	}
	if lacks := missing(set, wantedBits); lacks != "" {
		return warn(fmt.Sprintf("%v runs without %s: the kernel may choose a daemon when memory runs out, and users' limits cannot be raised", p, lacks), remedy)
	}
	return ok("%v has the capabilities that are needed", p)
}

func ghostImage(_ context.Context, s *subject) Result {
	path := s.installed("lib/bproc/ghost")
	if err := s.Image(path); err != nil {
		return failed(err, fmt.Sprintf("as root: %s --install-ghost %s, on a file system without nosuid", s.installed("lib/bproc/bpkeeper"), path))
	}
	return ok("%s has its file capabilities", path)
}

// ghostCapabilities checks for settings that take file capabilities from users who execute the
// image: a bounding set without them, with which execve(2) fails, and no_new_privs.
func ghostCapabilities(_ context.Context, s *subject) Result {
	p := s.self()
	set, err := p.capabilities("CapBnd")
	if err != nil {
		return skip("capabilities of %v: %v", p, err)
	}
	if lacks := missing(set, ghostBits); lacks != "" {
		return fail(fmt.Sprintf("ghosts that are started here cannot have %s", lacks), "start bpsh from a session whose capability bounding set has them (in a unit: CapabilityBoundingSet; outside of the container)")
	}
	if p.status("NoNewPrivs") == "1" {
		return fail("this process has no_new_privs, and its children have it: ghosts that are started here get no capabilities", "start bpsh from a login without no_new_privs (in a unit: NoNewPrivileges=no)")
	}
	return ok("ghosts that are started here get theirs")
}

func bpns(_ context.Context, s *subject) Result {
	path := s.installed("bin/bpns")
	remedy := "setcap cap_sys_admin=ep " + path
	set, err := s.Capabilities(path)
	switch {
	case err != nil:
		return warn(err.Error(), remedy)
	case set&(1<<unix.CAP_SYS_ADMIN) == 0:
		return warn(path+" has not the file capability cap_sys_admin", remedy)
	}
	if err := s.SetUID(path); err != nil {
		return warn(err.Error(), "install bproc on a file system that is mounted without nosuid")
	}
	return ok("%s has its file capability", path)
}
