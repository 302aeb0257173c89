package packaging_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bproc/test/limit"
)

func TestMain(m *testing.M) { limit.Tests(m) }

// names are the names of the packages, without "bproc-".
var names = []string{"client", "frontend", "node", "doc"}

// run runs a program and returns its output.
func run(t *testing.T, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "GO=go", "NFPM="+os.Getenv("BPROC_NFPM"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(argv, " "), err, out, &stderr)
	}
	return string(out)
}

// built returns a tree like the build, but with small programs: the contents of a package do not
// depend on them.
func built(t *testing.T) string {
	t.Helper()
	from, to := os.Getenv("BPROC_TREE"), t.TempDir()
	for _, dir := range []string{"bin", "sbin", "lib/bproc", "share"} {
		err := filepath.WalkDir(filepath.Join(from, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if dir != "share" {
				text = fmt.Appendf(nil, "\x7fELF %s GLIBC_2.34\n", name)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, name), text, 0o755)
		})
		if err != nil {
			t.Fatalf("%v; run this by make test", err)
		}
	}
	return to
}

// file is a file of a package.
type file struct {
	mode, owner, link string
}

// debLine and rpmLine match lines of "dpkg-deb --contents" and "rpm -qplv".
var (
	debLine = regexp.MustCompile(`^(\S+) (\S+)/(\S+) +\S+ \S+ \S+ \.(\S+)(?: -> (\S+))?$`)
	rpmLine = regexp.MustCompile(`^(\S+) +\d+ (\S+) +(\S+) +\d+ +\w+ +\d+ +\S+ (\S+)(?: -> (\S+))?$`)
)

// contents returns the files of a package.
func contents(t *testing.T, path string) map[string]file {
	t.Helper()
	list, form := "", debLine
	if strings.HasSuffix(path, ".rpm") {
		list, form = run(t, "rpm", "-qplv", "--noverify", path), rpmLine
	} else {
		list = run(t, "dpkg-deb", "--contents", path)
	}
	files := map[string]file{}
	for line := range strings.Lines(list) {
		m := form.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			t.Fatalf("%s: %q", path, line)
		}
		if m[1][0] != 'd' {
			files[m[4]] = file{mode: m[1], owner: m[2] + ":" + m[3], link: m[5]}
		}
	}
	return files
}

// installed returns the paths that "make install" makes, which packages must contain.
func installed(t *testing.T, tree string) (paths []string) {
	t.Helper()
	root := t.TempDir()
	run(t, "./install", tree, root, "/usr")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, usual(strings.TrimPrefix(path, root)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}

// usual returns the path that "make install" uses for a path of a package.
func usual(path string) string {
	if strings.HasPrefix(path, "/usr/share/man/") {
		path = strings.TrimSuffix(path, ".gz")
	}
	path = strings.Replace(path, "/vendor-completions/", "/site-functions/", 1)
	if path == "/usr/share/bproc/slave" { // the package's postinst copies it
		path = "/etc/bproc/slave"
	}
	if path == "/sbin/mount.fuse.bpprocfs" { // the same file if /sbin is a link
		path = "/usr" + path
	}
	return path
}

// one returns the only file that matches a pattern.
func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// TestUnitsAreInstalled checks that all units are installed, since they refer to each other.
func TestUnitsAreInstalled(t *testing.T) {
	got := installed(t, built(t))
	units := 0
	for _, pattern := range []string{"service", "slice"} {
		files, err := filepath.Glob("../cmd/*/*." + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			units++
			if want := "/usr/lib/systemd/system/" + filepath.Base(file); !slices.Contains(got, want) {
				t.Errorf("%s is not installed", want)
			}
		}
	}
	if units == 0 {
		t.Error("there are no units")
	}
}

func TestPackages(t *testing.T) {
	tree, out := built(t), t.TempDir()
	run(t, "./build", tree, out)
	want := installed(t, tree)
	for _, kind := range []string{"deb", "rpm"} {
		t.Run(kind, func(t *testing.T) {
			var all []string
			for _, name := range names {
				files := contents(t, one(t, out+"/bproc-"+name+"[_\\-]*."+kind))
				for path, f := range files {
					checkFile(t, path, f)
					all = append(all, usual(path))
				}
				if _, ok := files["/usr/share/doc/bproc-"+name+"/copyright"]; !ok {
					t.Errorf("bproc-%s says nothing about its terms", name)
				}
			}
			slices.Sort(all)
			for i, path := range all[1:] {
				if path == all[i] {
					t.Errorf("%s is in two packages", path)
				}
			}
			for _, path := range want {
				if !slices.Contains(all, path) {
					t.Errorf("%s is in no package", path)
				}
			}
		})
	}
	t.Run("documents of the README", func(t *testing.T) {
		readme, err := os.ReadFile("../README.md")
		if err != nil {
			t.Fatal(err)
		}
		have := contents(t, one(t, out+"/bproc-doc_*.deb"))
		named := regexp.MustCompile(`docs/([a-z-]+\.md)`).FindAllStringSubmatch(string(readme), -1)
		if len(named) == 0 {
			t.Error("there are none")
		}
		for _, m := range named {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(have)), func(path string) bool {
				return strings.TrimSuffix(filepath.Base(path), ".gz") == m[1]
			}) {
				t.Errorf("%s is in no package", m[0])
			}
		}
	})
	t.Run("configuration", func(t *testing.T) {
		for name, want := range map[string]struct{ deb, rpm string }{
			"client": {}, "frontend": {"/etc/bproc/config", "/etc/bproc/config"}, "node": {"", "/etc/bproc/slave"}, "doc": {},
		} {
			deb := one(t, out+"/bproc-"+name+"_*.deb")
			if got := run(t, "sh", "-c", "dpkg-deb --ctrl-tarfile "+deb+" | tar -xO ./conffiles 2>/dev/null || true"); strings.TrimSpace(got) != want.deb {
				t.Errorf("%s: got %q, want %q", deb, got, want.deb)
			}
			got := run(t, "rpm", "-qpc", "--noverify", one(t, out+"/bproc-"+name+"-*.rpm"))
			if want.rpm != "" && strings.TrimSpace(got) != want.rpm {
				t.Errorf("%s: got %q, want %q", name, got, want.rpm)
			}
		}
	})
	t.Run("lintian", func(t *testing.T) {
		debs, err := filepath.Glob(out + "/*.deb")
		if err != nil || len(debs) != len(names) {
			t.Fatal(debs, err)
		}
		// The programs of this tree are none (see built).
		run(t, append([]string{"lintian", "--allow-root", "--fail-on", "error", "--suppress-tags", "binary-from-other-architecture"}, debs...)...)
	})
	t.Run("dependencies", func(t *testing.T) {
		version := strings.TrimSpace(run(t, "./version"))
		for _, name := range []string{"frontend", "node"} {
			deb := run(t, "dpkg-deb", "--field", one(t, out+"/bproc-"+name+"_*.deb"), "Depends")
			if want := "bproc-client (= " + version + ")"; !strings.Contains(deb, want) {
				t.Errorf("bproc-%s depends on %s, want %s", name, deb, want)
			}
			rpm := run(t, "rpm", "-qpR", "--noverify", one(t, out+"/bproc-"+name+"-*.rpm"))
			if want := "bproc-client = " + version; !strings.Contains(rpm, want) {
				t.Errorf("bproc-%s requires\n%s\nwant %s", name, rpm, want)
			}
		}
	})
	t.Run("removed", func(t *testing.T) {
		rpms, err := filepath.Glob(out + "/*.rpm")
		if err != nil || len(rpms) != len(names) {
			t.Fatal(rpms, err)
		}
		root := t.TempDir()
		act := func(args ...string) {
			run(t, append([]string{"rpm", "--root", root, "--dbpath", "/db"}, args...)...)
		}
		act("--initdb")
		act(append([]string{"--install", "--nodeps", "--noscripts", "--nosignature"}, rpms...)...)
		if _, err := os.Stat(root + "/usr/lib/bproc/bpinit"); err != nil {
			t.Error(err)
		}
		act("--erase", "--nodeps", "--noscripts", "bproc-client", "bproc-doc", "bproc-frontend", "bproc-node")
		err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if strings.Contains(filepath.Base(path), "bproc") || strings.HasPrefix(filepath.Base(path), "bp") {
				t.Errorf("%s is left", strings.TrimPrefix(path, root))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("again", func(t *testing.T) {
		again := t.TempDir()
		run(t, "./build", tree, again, "frontend")
		for _, kind := range []string{"deb", "rpm"} {
			run(t, "cmp", one(t, out+"/bproc-frontend*."+kind), one(t, again+"/*."+kind))
		}
	})
}

// checkFile checks the owner and mode of a file.
func checkFile(t *testing.T, path string, f file) {
	t.Helper()
	mode := "-rw-r--r--"
	switch {
	case f.link != "":
		mode = f.mode // links have any mode
		if target := filepath.Join(filepath.Dir(path), f.link); target != "/usr/sbin/bpprocfs" && target != "/usr/share/man/man8/bpprocfs.8.gz" {
			t.Errorf("%s leads to %s", path, target)
		}
	case strings.Contains(path, "bin/") || strings.HasPrefix(path, "/usr/lib/bproc/"):
		mode = "-rwxr-xr-x"
	}
	if f.mode != mode || f.owner != "root:root" {
		t.Errorf("%s: got %s of %s, want %s of root:root", path, f.mode, f.owner, mode)
	}
}

// TestScripts checks that shells accept the scripts of packages, and that packages run them.
func TestScripts(t *testing.T) {
	var configs bytes.Buffer
	for _, name := range names {
		text, err := os.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		configs.Write(text)
	}
	for _, dir := range []string{"deb", "rpm"} {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range list {
			path := dir + "/" + entry.Name()
			if !strings.Contains(configs.String(), "packaging/"+path) {
				t.Errorf("%s is in no package", path)
			}
			if filepath.Ext(path) == ".lintian-overrides" {
				continue
			}
			run(t, "sh", "-n", path)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if dir == "deb" && !bytes.HasPrefix(text, []byte("#!/bin/sh\nset -e\n")) {
				t.Errorf("%s goes on after errors", path)
			}
		}
	}
	for _, path := range []string{"build", "install", "version", "copyright"} {
		run(t, "sh", "-n", path)
	}
}

// TestUnits checks that systemd has no complaints about the units.
func TestUnits(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	run(t, "./install", built(t), root, "/usr")
	var units []string
	for _, name := range []string{"bpmaster", "bpslave", "bpprocfs", "bproc-hosts", "bproc-jobs"} {
		text, err := os.ReadFile(root + "/usr/lib/systemd/system/" + name + ".service")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "/usr/local") {
			t.Errorf("%s is not for /usr", name)
		}
		// By default systemd gives up after five starts in ten seconds.
		if soon := strings.Contains(string(text), "RestartSec=1\n"); soon && !strings.Contains(string(text), "StartLimitIntervalSec=0\n") {
			t.Errorf("%s is not started any more when it has failed for some seconds", name)
		}
		unit := filepath.Join(dir, name+".service")
		for _, place := range []string{"/usr/sbin/bp", "/usr/bin/bp"} {
			text = bytes.ReplaceAll(text, []byte(place), []byte(root+place))
		}
		if err := os.WriteFile(unit, text, 0o644); err != nil {
			t.Fatal(err)
		}
		units = append(units, unit)
	}
	cmd := exec.CommandContext(t.Context(), "systemd-analyze", append([]string{"verify", "--man=no"}, units...)...)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestVersion gives a version, which replaces that of the commit in packages.
func TestVersion(t *testing.T) {
	t.Setenv("BPROC_VERSION", "1.2+x")
	if got := run(t, "./version"); got != "1.2+x\n" {
		t.Errorf("got %q, want 1.2+x", got)
	}
}
