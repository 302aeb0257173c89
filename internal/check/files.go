package check

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// fewDescriptors is a number of open descriptors that a busy daemon reaches: the master needs one
// for each process that was started from the front end.
const fewDescriptors = 16384

func descriptors(_ context.Context, s *subject) Result {
	p := s.nearest()
	limit, found := p.hardLimit("Max open files")
	switch {
	case !found:
		return skip("limits of %v cannot be read", p)
	case limit < fewDescriptors:
		return warn(fmt.Sprintf("%v may have %d descriptors", p, limit), "raise LimitNOFILE in the unit, or ulimit -n, to 524288")
	}
	return ok("%v may have %d", p, limit)
}

// Default paths of the daemons.
const (
	runDir       = "/run/bproc"
	frontEndFile = "/etc/bproc/config"
	nodeFile     = "/etc/bproc/slave"
	nodeState    = "/var/lib/bproc/slave"
	viewDir      = "/run/bproc/proc"
)

// stateDir returns the directory for the daemon's state.
func (s *subject) stateDir() string {
	if s.daemon != nil {
		if dir := s.daemon.option("--state"); dir != "" {
			return dir
		}
	}
	if s.side == Node {
		return nodeState
	}
	_, dir, _ := s.FrontEnd(s.Root.Path(frontEndFile)) // the default if the file cannot be read
	return dir
}

// state checks the directories to which the daemons write.
func state(_ context.Context, s *subject) Result {
	if !s.root() {
		return needsRoot("whether the daemon can write its state")
	}
	dir := s.stateDir()
	for _, dir := range []string{dir, runDir} {
		at, err := s.existing(dir)
		if err == nil {
			err = s.Writable(s.Root.Path(at))
		}
		if err != nil {
			return fail(fmt.Sprintf("%s cannot be written to: %v", dir, err), "put it on a file system that is mounted read-write")
		}
	}
	return ok("%s and %s can be written to", dir, runDir)
}

// existing returns a directory or its nearest existing parent: daemons make their directories.
func (s *subject) existing(dir string) (string, error) {
	for {
		st, err := os.Stat(s.Root.Path(dir))
		switch {
		case err == nil && !st.IsDir():
			return "", fmt.Errorf("%s is not a directory", dir)
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrNotExist) || dir == "/":
			return "", err
		}
		dir = filepath.Dir(dir)
	}
}

// view checks that the view of the front end, which bpns needs, is mounted.
func view(_ context.Context, s *subject) Result {
	mounts, err := s.Root.Text("/proc/self/mountinfo")
	if err != nil {
		return failed(err, "mount procfs on /proc")
	}
	for line := range strings.Lines(mounts) {
		about, kind, _ := strings.Cut(line, " - ")
		if f := strings.Fields(about); len(f) > 4 && f[4] == viewDir && strings.HasPrefix(kind, "fuse.") {
			if _, err := os.Stat(s.Root.Path(viewDir)); errors.Is(err, unix.ENOTCONN) { // FUSE without a server
				return warn("the bpprocfs of "+viewDir+" has ended: bpns does not work", "systemctl restart bpprocfs")
			}
			return ok("is mounted on %s", viewDir)
		}
	}
	return warn("no view is mounted on "+viewDir+": bpns does not work", "systemctl start bpprocfs (it starts with bpmaster), or bpprocfs --keep "+viewDir)
}

// programs are the programs of bproc that each side needs.
var programs = map[Side][]string{
	FrontEnd: {"bin/bpsh", "bin/bprsh", "bin/bpstat", "bin/bpctl", "bin/bpcp", "bin/bpjob", "bin/bpns", "sbin/bpmaster", "sbin/bpprocfs", "lib/bproc/bpkeeper", "lib/bproc/bpgroups"},
	Node:     {"bin/bpcp", "sbin/bpslave", "sbin/bpprocfs", "lib/bproc/bpinit", "lib/bproc/bpjail"},
}

// releases checks that all programs exist and are of one release, and that running daemons are the
// installed ones. It compares the versions from which programs were built: not all programs contain
// the version of the package.
func releases(_ context.Context, s *subject) Result {
	want := ""
	for _, program := range append([]string{"lib/bproc/bpcheck"}, programs[s.side]...) {
		path := s.installed(program)
		release, err := s.BuiltAs(path)
		switch {
		case err != nil:
			return failed(err, "install bproc anew: it is not complete")
		case want == "":
			want = release
		case release != want:
			return fail(fmt.Sprintf("%s is of release %s, bpctl check of %s", path, release, want), "install all of bproc from one release")
		}
	}
	daemons := map[Side][]string{FrontEnd: {"bpmaster", "bpkeeper", "bpprocfs"}, Node: {"bpslave"}}[s.side]
	for _, name := range daemons {
		p := s.running(name)
		if p == nil {
			continue
		}
		exe, err := os.Readlink(s.Root.Path(p.file("exe")))
		if err == nil && strings.HasSuffix(exe, " (deleted)") {
			remedy := "systemctl restart " + name + "; processes live on"
			if name == "bpkeeper" {
				remedy = "kill " + p.pid + ": bpmaster starts the next keeper, which takes over the ghosts"
			}
			return warn(fmt.Sprintf("%v is older than what is installed", p), remedy)
		}
	}
	return ok("all programs are of %s", s.Release)
}

// configuration reads the configuration file as the daemon does.
func configuration(_ context.Context, s *subject) Result {
	if s.side == Node {
		return s.nodeConfiguration()
	}
	_, err := os.Stat(s.Root.Path(frontEndFile))
	if errors.Is(err, fs.ErrNotExist) {
		return ok("there is no %s: the defaults hold", frontEndFile)
	}
	if _, _, err := s.FrontEnd(s.Root.Path(frontEndFile)); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return needsRoot(frontEndFile)
		}
		return failed(err, "correct it as bpmaster(8) says")
	}
	return ok("%s", frontEndFile)
}

func (s *subject) nodeConfiguration() Result {
	master, err := s.configured()
	switch {
	case errors.Is(err, fs.ErrPermission):
		return needsRoot(nodeFile)
	case s.Master != "" || s.daemon != nil:
		return ok("the master is %s", s.master())
	case err != nil:
		return fail("which master this node has is not said: "+err.Error(), "write MASTER=HOST into "+nodeFile+", or give bpslave the host as its operand")
	}
	return ok("%s: the master is %s", nodeFile, master)
}

// configured returns MASTER of the file that bpslave.service reads (EnvironmentFile,
// systemd.exec(5)).
func (s *subject) configured() (string, error) {
	f, err := os.Open(s.Root.Path(nodeFile))
	if err != nil {
		return "", err
	}
	defer f.Close()
	master := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, found := strings.CutPrefix(strings.TrimSpace(lines.Text()), "MASTER="); found {
			master = strings.Trim(value, `"'`)
		}
	}
	if master == "" {
		return "", fmt.Errorf("%s sets no MASTER", nodeFile)
	}
	return master, nil
}

// Sides returns the roles that this machine has or is to have. It goes by the running daemons, else
// by the state that they left or the configuration, else by the installed programs. The result is
// not certain if no daemon ever ran here, and the programs of both sides are installed, or of none.
func (m *Machine) Sides() (sides []Side, certain bool) {
	both := []Side{FrontEnd, Node}
	signs := []func(Side) bool{
		func(side Side) bool { return m.running(daemonOf[side]) != nil },
		func(side Side) bool {
			file := map[Side]string{FrontEnd: "/var/lib/bproc/master", Node: nodeState}[side]
			_, err := os.Stat(m.Root.Path(file))
			_, configured := (&subject{Machine: m}).configured()
			return err == nil || side == Node && configured == nil
		},
		func(side Side) bool {
			_, err := os.Stat(m.installed("sbin/" + daemonOf[side]))
			return err == nil
		},
	}
	for i, sign := range signs {
		sides = slices.DeleteFunc(slices.Clone(both), func(side Side) bool { return !sign(side) })
		if len(sides) > 0 {
			return sides, len(sides) == 1 || i < len(signs)-1
		}
	}
	return nil, false
}
