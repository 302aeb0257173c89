package check_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/check"
	"bproc/internal/probe"
	"bproc/wire"
	"bproc/wire/link"
)

const (
	release = "v1.0.0"
	allCaps = "000001ffffffffff"
	mounts2 = "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n40 24 0:40 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n"
	viewed  = "41 24 0:41 / /run/bproc/proc rw - fuse.bpprocfs bproc rw\n"
)

// machine is a machine of a test, which tests may change.
type machine struct {
	t *testing.T
	check.Machine
}

// sound returns a machine that lacks nothing, without running daemons.
func sound(t *testing.T) *machine {
	m := &machine{t: t}
	m.Root = probe.Root(t.TempDir())
	m.Prefix = "/opt/bproc"
	m.Release = release
	for file, text := range map[string]string{
		"/proc/sys/kernel/osrelease":                       "6.1.0-25-amd64\n",
		"/proc/sys/kernel/ns_last_pid":                     "1\n",
		"/proc/sys/kernel/pid_max":                         "4194304\n",
		"/proc/sys/kernel/threads-max":                     "250000\n",
		"/proc/sys/kernel/yama/ptrace_scope":               "1\n",
		"/proc/self/ns/pid":                                "",
		"/proc/self/mountinfo":                             mounts2 + viewed,
		"/proc/self/cgroup":                                "0::/user.slice/session.scope\n",
		"/proc/self/status":                                "Name:\tsh\nUid:\t0\t0\t0\t0\nNSpid:\t7\nCapEff:\t" + allCaps + "\nCapBnd:\t" + allCaps + "\nNoNewPrivs:\t0\n",
		"/proc/self/limits":                                "Max open files            1024                 524288               files\n",
		"/sys/kernel/btf/vmlinux":                          "",
		"/sys/fs/cgroup/cgroup.procs":                      "",
		"/sys/fs/cgroup/cgroup.controllers":                "cpu memory pids\n",
		"/sys/fs/cgroup/user.slice/pids.max":               "max\n",
		"/sys/fs/cgroup/user.slice/session.scope/pids.max": "max\n",
		"/dev/fuse":                                        "",
		"/etc/bproc/slave":                                 "MASTER=front\n",
		"/run/bproc/x":                                     "",
		"/var/lib/x":                                       "",
	} {
		m.write(file, text)
	}
	none := func(string) error { return nil }
	m.Probes = check.Probes{
		SetTID: func() error { return nil }, CloseRange: func() error { return nil }, Landlock: func() (int, error) { return 6, nil }, Seccomp: func() error { return nil }, BPF: func() error { return nil },
		Writable: none, SetUID: none, Image: none, Connect: none,
		Capabilities: func(string) (uint64, error) { return 1 << unix.CAP_SYS_ADMIN, nil },
		BuiltAs:      func(string) (string, error) { return release, nil },
		Resolve:      func(context.Context, string) ([]string, error) { return []string{"10.0.0.1"}, nil },
		Accepts:      func(context.Context, string, *link.Identity) error { return nil },
		Identity:     func(string) (*link.Identity, error) { return new(link.Identity), nil },
		FrontEnd:     func(string) (string, string, error) { return ":2223", "/var/lib/bproc/master", nil },
	}
	m.answers(link.About{Version: wire.Version, MinVersion: wire.MinVersion, Release: release, Within: time.Millisecond})
	return m
}

func (m *machine) write(file, text string) {
	m.t.Helper()
	path := m.Root.Path(file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) remove(file string) {
	m.t.Helper()
	if err := os.RemoveAll(m.Root.Path(file)); err != nil {
		m.t.Fatal(err)
	}
}

// start adds a running daemon.
func (m *machine) start(pid, name, status, args string) {
	m.t.Helper()
	m.write("/proc/"+pid+"/comm", name+"\n")
	m.write("/proc/"+pid+"/status", "Uid:\t0\t0\t0\t0\nNSpid:\t"+pid+"\n"+status)
	m.write("/proc/"+pid+"/cmdline", strings.ReplaceAll(name+" "+args, " ", "\x00")+"\x00")
	m.write("/proc/"+pid+"/limits", "Max open files            1024                 524288               files\n")
	m.write("/proc/"+pid+"/cgroup", "0::/\n")
}

func (m *machine) answers(about link.About) {
	m.Inquire = func(context.Context, string, *link.Identity) (*link.About, error) { return &about, nil }
}

func (m *machine) silent(err error) {
	m.Inquire = func(context.Context, string, *link.Identity) (*link.About, error) { return nil, err }
}

// result returns the result of one check.
func (m *machine) result(side check.Side, name string) check.Result {
	m.t.Helper()
	for _, r := range m.Run(m.t.Context(), side) {
		if r.Name == name {
			return r
		}
	}
	m.t.Fatalf("%s: there is no check %q", side, name)
	return check.Result{}
}

func TestSoundMachine(t *testing.T) {
	for _, side := range []check.Side{check.FrontEnd, check.Node} {
		for _, r := range sound(t).Run(t.Context(), side) {
			if r.Status != check.OK || r.Found == "" || r.Remedy != "" || r.Side != side {
				t.Errorf("%+v", r)
			}
		}
	}
}

// fault is a lack of a machine.
type fault struct {
	name   string
	side   check.Side
	lack   func(*machine)
	check  string // the check that notices it
	status check.Status
	found  string // words of the result
	remedy string // words of the remedy
}

var errBad = errors.New("it is bad")

func bad(string) error { return errBad }

var faults = []fault{
	{"old kernel", check.FrontEnd, func(m *machine) { m.write("/proc/sys/kernel/osrelease", "5.4.0\n") }, "kernel", check.Fail, "Linux 5.4.0", "5.10"},
	{"oldest kernel", check.Node, func(m *machine) { m.write("/proc/sys/kernel/osrelease", "5.10.0-31-amd64\n") }, "kernel", check.OK, "5.10.0", ""},
	{"no capability", check.FrontEnd, func(m *machine) { m.start("5", "bpmaster", "CapEff:\t000001fffff7ffff\n", "") }, "privileges", check.Fail, "bpmaster (5) runs without CAP_SYS_PTRACE", "CapabilityBoundingSet"},
	{"no wanted capability", check.Node, func(m *machine) { m.start("5", "bpslave", "CapEff:\t000001fffeffffff\n", "front") }, "privileges", check.Warn, "CAP_SYS_RESOURCE", "container"},
	{"not root", check.Node, func(m *machine) { m.UID = 1000 }, "privileges", check.Skip, "only root", ""},
	{"no cursor", check.FrontEnd, func(m *machine) {
		m.remove("/proc/sys/kernel/ns_last_pid")
		m.write("/boot/config-6.1.0-25-amd64", "CONFIG_X=y\n# CONFIG_CHECKPOINT_RESTORE is not set\n")
	}, "process numbers", check.Fail, "CONFIG_CHECKPOINT_RESTORE", "built without it"},
	{"no cursor, configuration unknown", check.Node, func(m *machine) { m.remove("/proc/sys/kernel/ns_last_pid") }, "process numbers", check.Fail, "CONFIG_CHECKPOINT_RESTORE", "distributions"},
	{"no set_tid", check.Node, func(m *machine) { m.SetTID = func() error { return unix.ENOSYS } }, "process numbers", check.Fail, "function not implemented", "seccomp profile"},
	{"pid_max lowered", check.FrontEnd, func(m *machine) {
		m.write("/proc/sys/kernel/pid_max", "32768\n")
		m.start("6", "bpkeeper", "", "")
	}, "pid_max", check.Fail, "bpkeeper (6)", "sysctl -w kernel.pid_max=4194304"},
	{"pid_max not raised yet", check.FrontEnd, func(m *machine) { m.write("/proc/sys/kernel/pid_max", "32768\n") }, "pid_max", check.OK, "to be raised", ""},
	{"pid_max to be lowered", check.Node, func(m *machine) { m.write("/etc/sysctl.d/local.conf", "# us\nkernel/pid_max = 65536\n") }, "pid_max", check.Warn, "/etc/sysctl.d/local.conf sets kernel.pid_max to 65536", "sysctl --system"},
	{"yama", check.FrontEnd, func(m *machine) { m.write("/proc/sys/kernel/yama/ptrace_scope", "3\n") }, "ptrace", check.Fail, "kernel.yama.ptrace_scope is 3", "reboot"},
	{"no yama", check.FrontEnd, func(m *machine) { m.remove("/proc/sys/kernel/yama") }, "ptrace", check.OK, "", ""},
	{"ghost image", check.FrontEnd, func(m *machine) { m.Image = bad }, "ghost image", check.Fail, "it is bad", "/opt/bproc/lib/bproc/bpkeeper --install-ghost /opt/bproc/lib/bproc/ghost"},
	{"bounding set", check.FrontEnd, func(m *machine) { m.write("/proc/self/status", "CapBnd:\t000000ffffffffff\n") }, "ghost capabilities", check.Fail, "CAP_CHECKPOINT_RESTORE", "bounding set"},
	{"no_new_privs", check.FrontEnd, func(m *machine) { m.write("/proc/self/status", "CapBnd:\t"+allCaps+"\nNoNewPrivs:\t1\n") }, "ghost capabilities", check.Fail, "no_new_privs", "NoNewPrivileges=no"},
	{"bpns without capability", check.FrontEnd, func(m *machine) { m.Capabilities = func(string) (uint64, error) { return 0, nil } }, "bpns", check.Warn, "cap_sys_admin", "setcap cap_sys_admin=ep /opt/bproc/bin/bpns"},
	{"nosuid", check.FrontEnd, func(m *machine) { m.SetUID = bad }, "bpns", check.Warn, "it is bad", "nosuid"},
	{"no PID namespaces", check.Node, func(m *machine) { m.remove("/proc/self/ns/pid") }, "pid namespaces", check.Fail, "CONFIG_PID_NS", "CONFIG_PID_NS"},
	{"Landlock without scopes", check.Node, func(m *machine) { m.Landlock = func() (int, error) { return 2, nil } }, "jobs", check.Warn, "signal", "6.12"},
	{"no Landlock", check.Node, func(m *machine) { m.Landlock = func() (int, error) { return 0, nil } }, "jobs", check.Warn, "sees", "5.19"},
	{"Landlock is forbidden", check.Node, func(m *machine) { m.Landlock = func() (int, error) { return 0, unix.EPERM } }, "jobs", check.Fail, "not permitted", "seccomp profile"},
	{"no close_range", check.Node, func(m *machine) { m.CloseRange = func() error { return unix.EPERM } }, "close_range", check.Fail, "not permitted", "seccomp profile"},
	{"no seccomp", check.Node, func(m *machine) { m.Seccomp = func() error { return errBad } }, "seccomp", check.Fail, "it is bad", "CONFIG_SECCOMP_FILTER"},
	{"no types", check.Node, func(m *machine) { m.remove("/sys/kernel/btf") }, "bpf", check.Fail, "types", "CONFIG_DEBUG_INFO_BTF"},
	{"no BPF", check.Node, func(m *machine) { m.BPF = func() error { return errBad } }, "bpf", check.Fail, "it is bad", "lockdown"},
	{"BPF, not root", check.Node, func(m *machine) { m.UID = 1000 }, "bpf", check.Skip, "only root", ""},
	{"no cgroups", check.Node, func(m *machine) { m.write("/proc/self/mountinfo", "") }, "cgroups", check.Fail, "no control groups are mounted", "mount -t cgroup2"},
	{"cgroups read-only", check.Node, func(m *machine) {
		m.Writable = func(path string) error {
			if strings.HasSuffix(path, "/sys/fs/cgroup") {
				return unix.EROFS
			}
			return nil
		}
	}, "cgroups", check.Fail, "read-only file system", "read-write"},
	{"cgroups not delegated", check.Node, func(m *machine) {
		m.write("/sys/fs/cgroup/cgroup.type", "domain\n")
		m.write("/sys/fs/cgroup/cgroup.procs", "1\n7\n")
		m.write("/sys/fs/cgroup/cgroup.subtree_control", "\n")
	}, "cgroups", check.Warn, "processes of its own", "no internal processes"},
	{"no pids controller", check.Node, func(m *machine) { m.write("/sys/fs/cgroup/cgroup.controllers", "cpu\n") }, "pids controller", check.Warn, "not bounded", "controller"},
	{"no D-Bus", check.Node, func(m *machine) {
		m.write("/run/systemd/system/x", "")
		m.Connect = bad
	}, "systemd", check.Fail, "it is bad", "dbus"},
	{"systemd, D-Bus", check.Node, func(m *machine) { m.write("/run/systemd/system/x", "") }, "systemd", check.OK, "scope", ""},
	{"no FUSE", check.Node, func(m *machine) { m.remove("/dev/fuse") }, "fuse", check.Warn, "CONFIG_FUSE_FS", "modprobe fuse"},
	{"no view", check.FrontEnd, func(m *machine) { m.write("/proc/self/mountinfo", mounts2) }, "view", check.Warn, "no view", "bpprocfs"},
	{"few tasks", check.FrontEnd, func(m *machine) { m.write("/sys/fs/cgroup/user.slice/pids.max", "60\n") }, "tasks", check.Warn, "at most 60 tasks", "TasksMax"},
	{"few tasks of a node", check.Node, func(m *machine) {
		m.start("5", "bpslave", "CapEff:\t"+allCaps+"\n", "front")
		m.write("/proc/5/cgroup", "0::/system.slice/bpslave.service\n")
		m.write("/sys/fs/cgroup/system.slice/bpslave.service/pids.max", "2343\n")
	}, "tasks", check.Warn, "/system.slice/bpslave.service", "TasksMax"},
	{"few threads", check.Node, func(m *machine) { m.write("/proc/sys/kernel/threads-max", "7000\n") }, "tasks", check.Warn, "7000", "kernel.threads-max"},
	{"few descriptors", check.FrontEnd, func(m *machine) {
		m.write("/proc/self/limits", "Max open files            1024                 4096                 files\n")
	}, "descriptors", check.Warn, "4096", "LimitNOFILE"},
	{"state cannot be written", check.Node, func(m *machine) {
		m.Writable = func(path string) error {
			if strings.Contains(path, "/var/lib") {
				return unix.EROFS
			}
			return nil
		}
	}, "state", check.Fail, "/var/lib/bproc/slave cannot be written to", "read-write"},
	{"state is a file", check.FrontEnd, func(m *machine) { m.write("/var/lib/bproc/master", "") }, "state", check.Fail, "not a directory", ""},
	{"state elsewhere", check.Node, func(m *machine) {
		m.start("5", "bpslave", "", "--state /elsewhere/x front")
		m.write("/elsewhere", "")
	}, "state", check.Fail, "/elsewhere/x", ""},
	{"program of another release", check.Node, func(m *machine) {
		m.BuiltAs = func(path string) (string, error) {
			if strings.HasSuffix(path, "bpinit") {
				return "v0.9.0", nil
			}
			return release, nil
		}
	}, "releases", check.Fail, "/opt/bproc/lib/bproc/bpinit is of release v0.9.0", "one release"},
	{"release of a package", check.Node, func(m *machine) {
		m.Release = "1.0.0+20260101120000.gabc"
		m.answers(link.About{Version: wire.Version, MinVersion: wire.MinVersion, Release: m.Release, Within: time.Millisecond})
	}, "releases", check.OK, "all programs are of 1.0.0+20260101120000.gabc", ""},
	{"program missing", check.FrontEnd, func(m *machine) { m.BuiltAs = func(string) (string, error) { return "", fs.ErrNotExist } }, "releases", check.Fail, "file does not exist", "install"},
	{"old daemon", check.FrontEnd, func(m *machine) {
		m.start("5", "bpmaster", "", "")
		if err := os.Symlink("/usr/sbin/bpmaster (deleted)", m.Root.Path("/proc/5/exe")); err != nil {
			m.t.Fatal(err)
		}
	}, "releases", check.Warn, "bpmaster (5) is older", "restart"},
	{"bad configuration", check.FrontEnd, func(m *machine) {
		m.write("/etc/bproc/config", "nonsense\n")
		m.FrontEnd = func(string) (string, string, error) { return ":2223", "", errBad }
	}, "configuration", check.Fail, "it is bad", "bpmaster(8)"},
	{"no master configured", check.Node, func(m *machine) { m.remove("/etc/bproc/slave") }, "configuration", check.Fail, "which master", "MASTER=HOST"},
	{"only a comment configured", check.Node, func(m *machine) { m.write("/etc/bproc/slave", "# MASTER=\n") }, "configuration", check.Fail, "sets no MASTER", "MASTER=HOST"},
	{"master on the command line", check.Node, func(m *machine) {
		m.remove("/etc/bproc/slave")
		m.start("5", "bpslave", "", "--keep elsewhere")
	}, "configuration", check.OK, "elsewhere", ""},
	{"not joined", check.Node, func(m *machine) { m.Identity = func(string) (*link.Identity, error) { return nil, link.ErrNotJoined } }, "identity", check.Warn, "not joined", "bpctl enroll"},
	{"identity damaged", check.Node, func(m *machine) { m.Identity = func(string) (*link.Identity, error) { return nil, errBad } }, "identity", check.Fail, "it is bad", "join again"},
	{"master of the file for a daemon without operand", check.Node, func(m *machine) {
		m.start("5", "bpslave", "", "--join-file /etc/bproc/token")
	}, "configuration", check.OK, "the master is front", ""},
	{"master of the file for a daemon with a flag", check.Node, func(m *machine) { m.start("5", "bpslave", "", "--keep") }, "configuration", check.OK, "the master is front", ""},
	{"address in brackets", check.Node, func(m *machine) {
		m.Master = "[fd00::1]"
		m.Resolve = func(_ context.Context, host string) ([]string, error) { return []string{"only " + host}, nil }
	}, "name of the master", check.OK, "fd00::1 is only fd00::1", ""},
	{"name unknown", check.Node, func(m *machine) { m.Resolve = func(context.Context, string) ([]string, error) { return nil, errBad } }, "name of the master", check.Fail, "it is bad", "/etc/hosts"},
	{"nobody listens on the front end", check.FrontEnd, func(m *machine) { m.silent(unix.ECONNREFUSED) }, "port", check.Warn, "does not run", "systemctl"},
	{"master is deaf", check.FrontEnd, func(m *machine) {
		m.start("5", "bpmaster", "", "")
		m.silent(unix.ECONNREFUSED)
	}, "port", check.Fail, "refused", "bpmaster (5)"},
	{"somebody else's port", check.FrontEnd, func(m *machine) { m.silent(errBad) }, "port", check.Fail, "it is bad", "another"},
	{"old master", check.FrontEnd, func(m *machine) { m.answers(link.About{Release: "v0.9.0"}) }, "port", check.Warn, "v0.9.0", "restart"},
	{"nobody listens", check.Node, func(m *machine) { m.silent(unix.ECONNREFUSED) }, "master", check.Fail, "refused", "start bpmaster"},
	{"no route", check.Node, func(m *machine) { m.silent(unix.EHOSTUNREACH) }, "master", check.Fail, "no route", "network"},
	{"firewall", check.Node, func(m *machine) { m.silent(os.ErrDeadlineExceeded) }, "master", check.Fail, "timeout", "open TCP port 2223"},
	{"other master", check.Node, func(m *machine) { m.silent(link.ErrOtherMaster) }, "master", check.Fail, "not the master", "join again"},
	{"revoked", check.Node, func(m *machine) {
		m.Accepts = func(context.Context, string, *link.Identity) error {
			return &link.RefusedError{Reason: "unknown", Rejoin: true}
		}
	}, "master", check.Fail, "refused: unknown", "bpctl enroll"},
	{"set down", check.Node, func(m *machine) {
		m.Accepts = func(context.Context, string, *link.Identity) error {
			return &link.RefusedError{Reason: "is set down", Later: true}
		}
	}, "master", check.Warn, "is set down", "bpstat"},
	{"old protocol", check.Node, func(m *machine) { m.answers(link.About{Version: wire.MinVersion - 1, Release: "v0.1.0"}) }, "protocol", check.Fail, "speaks versions", "v0.1.0"},
	{"other release", check.Node, func(m *machine) {
		m.answers(link.About{Version: wire.Version, MinVersion: wire.MinVersion, Release: "v1.1.0"})
	}, "protocol", check.Warn, "v1.1.0", "same release"},
	{"protocol, nobody answers", check.Node, func(m *machine) { m.silent(errBad) }, "protocol", check.Skip, "does not answer", ""},
	{"clock late", check.Node, func(m *machine) { m.answers(link.About{Ahead: time.Minute}) }, "clock", check.Warn, "1m0s ahead of", "NTP"},
	{"clock early", check.Node, func(m *machine) { m.answers(link.About{Ahead: -time.Minute}) }, "clock", check.Warn, "1m0s behind", "NTP"},
}

func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			m := sound(t)
			f.lack(m)
			r := m.result(f.side, f.check)
			if r.Status != f.status || !strings.Contains(r.Found, f.found) || !strings.Contains(r.Remedy, f.remedy) {
				t.Errorf("got %+v, want %s, %q, %q", r, f.status, f.found, f.remedy)
			}
			if (r.Remedy != "") != (r.Status == check.Warn || r.Status == check.Fail) {
				t.Errorf("%s with the remedy %q", r.Status, r.Remedy)
			}
		})
	}
}

// TestEveryCheckHasAFault checks that every check can be made to fail.
func TestEveryCheckHasAFault(t *testing.T) {
	noticed := map[string]bool{}
	for _, f := range faults {
		if f.status == check.Warn || f.status == check.Fail {
			noticed[f.check] = true
		}
	}
	for _, side := range []check.Side{check.FrontEnd, check.Node} {
		for _, r := range sound(t).Run(t.Context(), side) {
			if !noticed[r.Name] {
				t.Errorf("%s: %s notices no fault of this test", side, r.Name)
			}
		}
	}
}

func TestSides(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*machine)
		want    string
		certain bool
	}{
		{"nothing", func(*machine) {}, "", false},
		{"both installed", func(m *machine) { m.write("/opt/sbin/bpmaster", ""); m.write("/opt/sbin/bpslave", "") }, "front end, node", false},
		{"node installed", func(m *machine) { m.write("/opt/sbin/bpslave", "") }, "node", true},
		{"was front end", func(m *machine) {
			m.write("/opt/sbin/bpslave", "")
			m.write("/opt/sbin/bpmaster", "")
			m.write("/var/lib/bproc/master/state", "")
		}, "front end", true},
		{"node configured", func(m *machine) { m.write("/etc/bproc/slave", "MASTER=x\n") }, "node", true},
		{"node runs, was front end", func(m *machine) {
			m.write("/var/lib/bproc/master/state", "")
			m.start("5", "bpslave", "", "front")
		}, "node", true},
		{"both run", func(m *machine) { m.start("5", "bpslave", "", "front"); m.start("6", "bpmaster", "", "") }, "front end, node", true},
		{"a container's runs", func(m *machine) { m.start("5", "bpslave", "", "front"); m.containerise("5") }, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := sound(t)
			m.Prefix = m.Root.Path("/opt")
			m.remove("/etc/bproc")
			test.change(m)
			sides, certain := m.Sides()
			var words []string
			for _, side := range sides {
				words = append(words, string(side))
			}
			if got := strings.Join(words, ", "); got != test.want || certain != test.certain {
				t.Errorf("got %q, %t; want %q, %t", got, certain, test.want, test.certain)
			}
		})
	}
}

// containerise moves a process to another PID namespace.
func (m *machine) containerise(pid string) {
	m.t.Helper()
	m.write("/proc/"+pid+"/status", "Uid:\t0\t0\t0\t0\nNSpid:\t"+pid+"\t2\n")
}
