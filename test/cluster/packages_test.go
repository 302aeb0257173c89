package cluster_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// packageTool is a tool that installs packages.
type packageTool struct {
	kind    string   // of the files of packages
	quick   string   // compression that takes no time
	install []string // also upgrades, and does the opposite
	remove  []string
	usual   string // is in what it says when there is no fault
	keeps   string // of what was configured, its removal keeps this
}

// packageTools write nothing outside of what is a machine's own. Dependencies are looked at only by dpkg: rpm
// does not know what Debian has installed.
var packageTools = []packageTool{
	{
		kind:    "deb",
		quick:   "none",
		install: []string{"dpkg", "--log=/run/dpkg.log", "--no-triggers", "--install"},
		remove:  []string{"dpkg", "--log=/run/dpkg.log", "--no-triggers", "--purge"},
		usual:   "Created symlink ",
	},
	{
		kind:    "rpm",
		quick:   "gzip:1",
		install: []string{"rpm", "--dbpath", "/var/lib/rpm", "--force-debian", "--nodeps", "--nosignature", "--oldpackage", "--upgrade"},
		remove:  []string{"rpm", "--dbpath", "/var/lib/rpm", "--force-debian", "--nodeps", "--erase"},
		usual:   "warning: /etc/bproc/slave saved as ",
		keeps:   "/etc/bproc/slave.rpmsave",
	},
}

// TestPackages installs the packages on machines that systemd runs, upgrades them while a command and a job
// run, and removes them.
func TestPackages(t *testing.T) {
	for _, tool := range packageTools {
		t.Run(tool.kind, func(t *testing.T) {
			t.Parallel()
			first, second := tool.build(t, "1.0"), tool.build(t, "1.1")
			p := &packaged{tool: tool, Cluster: cluster.Start(t, cluster.Config{Nodes: 1, Bare: true, Systemd: true})}
			// Jobs are not in /var/vcap, which is the host's.
			const root = cluster.UnitDir + "/bproc-jobs.service.d/root.conf"
			if err := p.Front.WriteFile(root, "[Service]\nEnvironment=BPJOB_ROOT="+jobRoot+"\n", 0o644); err != nil {
				t.Fatal(err)
			}
			before := map[*cluster.Machine][]string{}
			for _, m := range []*cluster.Machine{p.Front, p.Nodes[0]} {
				ask(t, m, cluster.Root, "rm", "-f", "/usr/sbin/policy-rc.d") // where packages must start nothing
				before[m] = bprocOn(t, m)
			}
			p.run(t, p.Front, first, "client", "frontend")
			p.run(t, p.Nodes[0], first, "client", "node")
			p.start(t)
			t.Run("upgrade", func(t *testing.T) { p.upgrade(t, second) })
			t.Run("faulty configuration", func(t *testing.T) { p.faulty(t, first) })
			t.Run("removal", func(t *testing.T) { p.remove(t, before) })
		})
	}
}

// build makes the packages of a version, of the build that all machines have, and returns their directory.
func (p packageTool) build(t *testing.T, version string) string {
	t.Helper()
	tree := os.Getenv(cluster.TreeVariable)
	if tree == "" {
		t.Fatal("there is no build; run this by make test")
	}
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "../../packaging/build", tree, out, "client", "frontend", "node")
	cmd.Env = append(os.Environ(), "GO=go", "NFPM="+os.Getenv("BPROC_NFPM"), "BPROC_VERSION="+version, "KINDS="+p.kind, "COMPRESSION="+p.quick)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, said)
	}
	return out
}

// packaged is a cluster that is made of packages.
type packaged struct {
	*cluster.Cluster
	tool    packageTool
	feed    *os.File // to the command
	command *remote
	jobs    *jobs
	beat    jobStatus // of the job
}

// says installs packages of a directory, or removes some if that is empty. It returns what the tool says of
// faults.
func (p *packaged) says(t *testing.T, m *cluster.Machine, dir string, names ...string) string {
	t.Helper()
	argv := slices.Clone(p.tool.remove)
	if dir != "" {
		argv = slices.Clone(p.tool.install)
	}
	for _, name := range names {
		name = "bproc-" + name
		if dir != "" {
			found, err := filepath.Glob(dir + "/" + name + "[_\\-]*")
			if err != nil || len(found) != 1 {
				t.Fatal(name, found, err)
			}
			name = found[0]
		}
		argv = append(argv, name)
	}
	res, err := m.Exec(t.Context(), cluster.Root, argv...)
	if err != nil || res.Code != 0 {
		t.Fatalf("%s: %v: %v, %+v", m.Name, argv, err, res)
	}
	return res.Stderr
}

// run is says for tools that must not find fault.
func (p *packaged) run(t *testing.T, m *cluster.Machine, dir string, names ...string) {
	t.Helper()
	for line := range strings.Lines(p.says(t, m, dir, names...)) {
		if !strings.HasPrefix(line, p.tool.usual) {
			t.Errorf("%s: %s of %v says %s", m.Name, p.tool.kind, names, line)
		}
	}
}

// start makes a cluster of the installed packages as the README says, with a command and a job.
func (p *packaged) start(t *testing.T) {
	t.Helper()
	ask(t, p.Front, cluster.Root, "systemctl", "enable", "--now", "bpmaster")
	token, err := p.Enroll(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ask(t, p.Nodes[0], cluster.Root, "sh", "-ec", "echo MASTER=front >>/etc/bproc/slave; (umask 077; echo "+token+" >/etc/bproc/token); systemctl enable --now bpslave")
	if err := p.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	p.jobs = &jobs{Cluster: p.Cluster, t: t}
	p.jobs.write("beat", "nodes: 0\nautostart: true\n"+process("beat", "exec sleep 1000", "restart: always"))
	ask(t, p.Front, cluster.Root, "systemctl", "enable", "--now", "bproc-hosts", "bproc-jobs")
	p.beat = p.jobs.await("beat", "running", func(k jobStatus) bool { return k.State == "running" })
	cluster.Eventually(t, "the front end knows the node's name", func() error {
		res, err := p.Front.Exec(t.Context(), cluster.Alice, "getent", "hosts", ".0")
		if err == nil && res.Code != 0 {
			err = fmt.Errorf("getent: exit code %d", res.Code)
		}
		return err
	})
	var stdin *os.File
	stdin, p.feed = pipe(t)
	p.command = startRemoteWith(t, p.Cluster, cluster.Alice, 0, stdin, "sh", "-c", "echo ready; while read line; do echo $line; done; exit 7")
	if got := ask(t, p.Front, cluster.Alice, "bpns", "ps", "-o", "args=", "-p", fmt.Sprint(p.command.ghost)); !strings.HasPrefix(got, "sh -c echo ready") {
		t.Errorf("bpns shows %q", got)
	}
}

// goesOn checks that the cluster works, and that the command and the job have gone on.
func (p *packaged) goesOn(t *testing.T, when string) {
	t.Helper()
	if err := p.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(p.feed, when); err != nil {
		t.Fatal(err)
	}
	p.command.expect(when)
	if k := p.jobs.status("beat"); k.State != "running" || k.PID != p.beat.PID || k.Runs != p.beat.Runs {
		t.Errorf("the job was %+v and is %+v", p.beat, k)
	}
	if got := ask(t, p.Front, cluster.Alice, "bpsh", "0", "id", "-un"); got != cluster.Alice.Name {
		t.Errorf("a new command says %q, want %q", got, cluster.Alice.Name)
	}
}

func (p *packaged) upgrade(t *testing.T, to string) {
	p.run(t, p.Nodes[0], to, "client", "node")
	p.run(t, p.Front, to, "client", "frontend")
	p.goesOn(t, "upgraded")
	for _, m := range []*cluster.Machine{p.Front, p.Nodes[0]} {
		cluster.Eventually(t, m.Name+" runs the new version", func() error { return stale(t, m) })
	}
}

// faulty installs another version over a configuration with a fault: the former master goes on.
func (p *packaged) faulty(t *testing.T, version string) {
	const config = "/etc/bproc/config"
	right, err := p.Front.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Front.WriteFile(config, "bogus 1\n", 0o644); err != nil {
		t.Fatal(err)
	}
	master := func() string {
		return ask(t, p.Front, cluster.Root, "systemctl", "show", "--property=MainPID", "bpmaster")
	}
	was := master()
	said := p.says(t, p.Front, version, "client", "frontend")
	if !strings.Contains(said, "bogus") || !strings.Contains(said, "systemctl restart bpmaster") {
		t.Errorf("the installation says %q", said)
	}
	if is := master(); is != was {
		t.Errorf("the master was %s and is %s", was, is)
	}
	p.goesOn(t, "faulty")
	if err := p.Front.WriteFile(config, string(right), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.Front.Systemctl(t.Context(), "restart", "bpmaster"); err != nil {
		t.Fatal(err)
	}
	p.goesOn(t, "corrected")
}

// remove removes all packages while a command and a job run. Nothing is left.
func (p *packaged) remove(t *testing.T, before map[*cluster.Machine][]string) {
	p.run(t, p.Front, "", "client", "frontend")
	if code := p.command.wait(); code == 7 || code == 0 {
		t.Errorf("the command's exit code is %d: %s", code, &p.command.stderr)
	}
	all, err := p.Nodes[0].Procs()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all {
		if slices.Contains(q.Args, "1000") {
			t.Errorf("the job's process goes on: %+v", q)
		}
	}
	p.run(t, p.Nodes[0], "", "client", "node")
	for m, had := range before {
		cluster.Eventually(t, m.Name+" is as before", func() error {
			left := slices.DeleteFunc(bprocOn(t, m), func(line string) bool {
				return slices.Contains(had, line) || strings.HasPrefix(p.tool.keeps, line)
			})
			if len(left) > 0 {
				return fmt.Errorf("left:\n%s", strings.Join(left, "\n"))
			}
			return nil
		})
	}
}

// stale returns an error if a service of a machine, or the keeper, is of a version that has been replaced.
// Init and the supervisors of jobs are of the version that started them.
func stale(t *testing.T, m *cluster.Machine) error {
	t.Helper()
	all, err := m.Procs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		name := strings.Join(p.Args, " ")
		for _, service := range []string{"bpmaster", "bpkeeper", "bpprocfs", "bpslave", "bpctl hosts", "bpjob serve"} {
			if strings.Contains(name, service) && strings.HasSuffix(p.Exe, "(deleted)") {
				return fmt.Errorf("%d, %s, is %s", p.PID, name, p.Exe)
			}
		}
	}
	return nil
}

// ours are the names of bproc.
var ours = regexp.MustCompile(`bproc|\bbp(master|slave|procfs|keeper|groups|init|jail|check|sh|rsh|stat|ctl|cp|job|ns)\b`)

// bprocOn returns what there is of bproc on a machine: files but for those of jobs, mounts, control groups,
// lines of /etc/hosts and processes.
func bprocOn(t *testing.T, m *cluster.Machine) []string {
	t.Helper()
	all := strings.Split(ask(t, m, cluster.Root, "sh", "-c", `
		find /etc /run /sbin/ /usr /var/cache /var/lib /var/log /var/spool -xdev ! -path '/var/lib/rpm/*' ! -path '/var/lib/dpkg/*' ! -path '`+jobRoot+`/*'
		find /sys/fs/cgroup -type d
		cut -d ' ' -f 5 /proc/self/mountinfo | sed 's/^/mount /'
		sed 's/^/hosts: /' /etc/hosts
		for p in /proc/[0-9]*; do readlink $p/exe | grep bp && { tr '\0' ' ' <$p/cmdline; echo; }; done; true`), "\n")
	return slices.DeleteFunc(all, func(line string) bool { return !ours.MatchString(line) })
}
