package bproc_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// listed is what "go list" prints about a package.
type listed struct {
	ImportPath string
	Doc        string
	Standard   bool
	CgoFiles   []string
	Imports    []string
	Deps       []string
}

// list runs "go list" for the packages of this module and everything that they
// import.
func list(t *testing.T, cgo string) map[string]*listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Doc,Standard,CgoFiles,Imports,Deps", "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]*listed{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(listed)
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("answer of go list: %v", err)
		}
		packages[p.ImportPath] = p
	}
}

// ours reports whether a package is of this module.
func ours(importPath string) bool {
	return importPath == "bproc" || strings.HasPrefix(importPath, "bproc/")
}

// arrows lists, for each package of ours, the packages of ours that it may import: those that match
// a pattern of path.Match. Every package must be listed.
var arrows = map[string][]string{
	"wire":        nil,
	"wire/bypass": {"wire"},
	"wire/link":   {"wire", "wire/bypass", "internal/crowd"},
	"pidmap":      {"wire"},
	"nodeset":     {"internal/onscreen", "wire"},
	".":           {"internal/client"},

	"internal/check":                {"wire", "wire/link", "pidmap", "ghost", "internal/probe", "slave/pid1/filter", "slave/pid1/supervise", "slave/procevents"},
	"packaging":                     nil,
	"packaging/completion":          nil,
	"packaging/completion/generate": {"packaging/completion"},

	"internal/accounts":      nil,
	"internal/client":        {"wire", "wire/bypass", "nodeset", "internal/hosts", "internal/onscreen", "internal/widepipe", "internal/pidfd", "internal/procstat"},
	"internal/copy/stream":   nil,
	"internal/copy/source":   {"internal/copy/stream"},
	"internal/copy/target":   {"internal/copy/stream", "internal/copy/source"},
	"internal/copy/agent":    {"internal/copy/*"},
	"internal/crowd":         nil,
	"internal/flock":         nil,
	"internal/giveback":      nil,
	"internal/hosts":         {"wire"},
	"internal/widepipe":      nil,
	"internal/unacked":       {"wire"},
	"internal/inherited":     nil,
	"internal/job/door":      {"internal/peer"},
	"internal/job/file":      {"nodeset", "internal/job/life", "internal/job/spec"},
	"internal/job/jail":      {"internal/job/spec", "internal/probe"},
	"internal/job/life":      nil,
	"internal/job/place":     {"internal/job/life", "internal/job/spec", "internal/procstat", "wire"},
	"internal/job/spec":      {"internal/ownthread", "internal/procstat", "wire"},
	"internal/job/supervise": {"internal/client", "internal/job/file", "internal/job/life", "internal/job/place", "internal/job/spec", "internal/procstat"},
	"internal/longcall":      nil,
	"internal/nearest":       nil,
	"internal/outbox":        {"wire"},
	"internal/onscreen":      nil,
	"internal/ownthread":     nil,
	"internal/peer":          nil,
	"internal/pidfd":         nil,
	"internal/probe":         nil,
	"internal/processors":    nil,
	"internal/procstat":      nil,
	"internal/quietsock":     nil,
	"internal/service":       nil,
	"internal/sparselog":     nil,
	"internal/sysmon":        nil,
	"internal/taskgroup":     {"internal/probe", "internal/procstat"},

	"ghost":  {"wire", "pidmap", "ghost/groupkill", "ghost/mark", "internal/probe", "internal/longcall", "internal/outbox", "internal/peer", "internal/procstat", "internal/quietsock", "internal/flock", "internal/unacked"},
	"master": {"internal/accounts", "internal/recording", "nodeset", "wire", "wire/link", "pidmap", "ghost", "master/core", "master/nodeup", "master/store", "procfs/status", "internal/crowd", "internal/flock", "internal/giveback", "internal/hosts", "internal/longcall", "internal/nearest", "internal/outbox", "internal/peer", "internal/service", "internal/taskgroup", "internal/procstat", "internal/pidfd"},

	"ghost/groupkill":      {"wire"},
	"ghost/groupkill/load": {"ghost/groupkill"},
	"ghost/mark":           nil,
	"master/core":          {"wire", "pidmap", "internal/unacked"},
	"master/nodeup":        {"wire", "internal/ownthread"},
	"master/store":         {"internal/flock"},

	"procfs":       {"wire", "procfs/guard", "procfs/scout", "internal/crowd", "internal/longcall", "internal/ownthread", "internal/procstat"},
	"procfs/guard": {"internal/inherited", "internal/pidfd"},
	"procfs/scout": {"internal/longcall", "wire"},
	"procfs/nodes": {"internal/client", "wire", "procfs", "internal/procstat"},
	"procfs/enter": nil,

	"procfs/status":       {"wire", "internal/crowd", "internal/procstat"},
	"procfs/status/marks": {"wire", "procfs/status"},

	"slave":                {"internal/recording", "slave/core", "internal/crowd", "internal/flock", "internal/hosts", "internal/outbox", "internal/peer", "internal/service", "wire", "wire/link", "pidmap", "slave/space", "slave/procevents", "slave/journal", "slave/stdio", "wire/bypass", "procfs/status", "procfs/status/marks", "slave/pid1/standin", "slave/hardware", "slave/load", "internal/procstat", "internal/pidfd"},
	"slave/core":           {"wire", "pidmap", "internal/unacked"},
	"slave/hardware":       {"wire"},
	"slave/load":           {"wire"},
	"slave/journal":        {"wire"},
	"slave/stdio":          {"wire", "slave/journal", "internal/widepipe"},
	"slave/space":          {"wire", "internal/ownthread", "internal/probe", "internal/procstat", "slave/pid1/*", "internal/pidfd"},
	"slave/procevents":     {"wire", "pidmap", "slave/core", "slave/pid1/standin", "internal/longcall", "internal/procstat"},
	"slave/pid1":           {"wire", "pidmap", "slave/pid1/*", "internal/crowd", "internal/inherited", "internal/longcall", "internal/sysmon", "internal/procstat", "internal/pidfd", "internal/unacked"},
	"slave/pid1/filter":    nil,
	"slave/pid1/rights":    {"wire", "internal/peer", "internal/quietsock"},
	"slave/pid1/standin":   {"wire", "pidmap"},
	"slave/pid1/supervise": {"wire", "pidmap", "slave/pid1/filter", "internal/crowd", "internal/longcall", "internal/procstat"},

	"cmd/bpsh":              {"internal/client", "cmd/internal/bpsh", "cmd/internal/terminal"},
	"cmd/bprsh":             {"internal/client", "cmd/internal/bpsh", "cmd/internal/bprsh", "cmd/internal/terminal"},
	"cmd/bpstat":            {"internal/client", "cmd/internal/bpstat"},
	"cmd/bpctl":             {"internal/client", "cmd/internal/bpctl"},
	"cmd/bpcheck":           {"cmd/internal/bpcheck", "cmd/internal/release", "internal/check", "internal/probe", "master"},
	"cmd/bpmaster":          {"cmd/internal/operands", "cmd/internal/printed", "cmd/internal/release", "internal/processors", "internal/service", "internal/sparselog", "internal/sysmon", "master"},
	"cmd/bpslave":           {"cmd/internal/operands", "cmd/internal/printed", "cmd/internal/release", "internal/processors", "internal/sparselog", "internal/sysmon", "slave", "wire/link"},
	"cmd/bpgroups":          {"ghost/groupkill/load"},
	"cmd/bpkeeper":          {"cmd/internal/operands", "cmd/internal/printed", "cmd/internal/release", "internal/sparselog", "internal/sysmon", "ghost"},
	"cmd/bpinit":            {"internal/sparselog", "slave/pid1"},
	"cmd/bpjob":             {"cmd/internal/bpjob", "cmd/internal/terminal", "internal/job/door"},
	"cmd/bpjail":            {"internal/job/jail"},
	"cmd/bpcp":              {"cmd/internal/bpcp", "internal/client"},
	"cmd/bpns":              {"internal/onscreen", "procfs/enter"},
	"cmd/bpprocfs":          {"internal/client", "cmd/internal/operands", "cmd/internal/printed", "cmd/internal/release", "internal/inherited", "internal/service", "internal/sparselog", "slave/pid1/standin", "ghost/mark", "wire", "procfs", "procfs/guard", "procfs/nodes", "procfs/scout"},
	"cmd/internal/bpsh":     {"internal/client", "wire", "nodeset", "cmd/internal/defaultaction", "cmd/internal/flags", "cmd/internal/release", "cmd/internal/terminal", "internal/inherited", "internal/procstat", "internal/onscreen"},
	"cmd/internal/bprsh":    {"internal/accounts", "internal/client", "cmd/internal/bpsh", "cmd/internal/release", "cmd/internal/terminal"},
	"cmd/internal/terminal": {"internal/client"},
	"cmd/internal/bpstat":   {"internal/accounts", "internal/client", "wire", "nodeset", "cmd/internal/operands", "cmd/internal/printed", "cmd/internal/release", "internal/onscreen"},
	"cmd/internal/bpcheck":  {"cmd/internal/operands", "cmd/internal/printed", "internal/check", "internal/onscreen"},
	"cmd/internal/bpctl":    {"internal/accounts", "internal/client", "internal/hosts", "internal/nearest", "wire", "nodeset", "cmd/internal/operands", "cmd/internal/printed", "cmd/internal/release", "internal/onscreen"},
	"cmd/internal/bpjob":    {"internal/accounts", "internal/client", "internal/inherited", "internal/job/door", "internal/service", "cmd/internal/bpsh", "cmd/internal/terminal", "internal/job/file", "internal/job/life", "internal/job/place", "internal/job/spec", "internal/job/supervise", "internal/onscreen", "internal/procstat", "wire", "cmd/internal/operands", "cmd/internal/printed", "cmd/internal/release"},
	"cmd/internal/bpcp":     {"internal/client", "internal/copy/agent", "internal/copy/source", "internal/copy/stream", "internal/inherited", "internal/onscreen", "cmd/internal/defaultaction", "cmd/internal/operands", "cmd/internal/printed", "cmd/internal/release"},
	"cmd/internal/flags":    nil,
	"cmd/internal/operands": {"cmd/internal/flags"},
	"cmd/internal/printed":  nil,
	"cmd/internal/release":  nil,

	"cmd/internal/defaultaction": nil,

	"internal/fakegetent": nil,
	"internal/fakemaster": {"internal/client", "wire", "wire/bypass", "test/limit"},
	"internal/coretest":   {"internal/recording"},
	"internal/recording":  {"wire"},
	"internal/manpage":    nil,
	"internal/oldkernel":  {"internal/ownthread"},
	"internal/unitfile":   nil,

	"test/cluster":           {"*", "*/*", "*/*/*"},
	"test/cluster/bench":     {"*", "*/*", "*/*/*"},
	"test/cluster/demo":      {"test/cluster", "test/cluster/demo/tour"},
	"test/cluster/liars":     {"wire", "test/cluster"},
	"test/cluster/manynodes": {"wire", "wire/link", "internal/client", "test/cluster"},
	"test/cluster/rivals":    {"test/cluster"},
	"test/limit":             nil,
	"test/sim":               {"master/core", "slave/core", "pidmap", "wire", "internal/recording"},
	"test/sim/replay":        {"master/core", "slave/core", "internal/recording"},
	"test/verdict":           nil,
	"test/vm":                nil,

	"test/cluster/demo/tour": nil,
}

func TestArrows(t *testing.T) {
	packages := list(t, "1")
	for name, p := range packages {
		if !ours(name) {
			continue
		}
		may, known := arrows[short(name)]
		if !known {
			t.Errorf("%s: which packages may it import? Enter it in arrows", name)
		}
		for _, imported := range p.Imports {
			allowed := func(pattern string) bool { ok, err := path.Match(pattern, short(imported)); return ok && err == nil }
			if ours(imported) && !slices.ContainsFunc(may, allowed) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
		if short(name) == "pidmap" {
			for _, imported := range []string{"net", "os", "time", "sync", "context", "log/slog"} {
				if slices.Contains(p.Imports, imported) {
					t.Errorf("%s imports %s; it has no I/O, no goroutines and no clock", name, imported)
				}
			}
		}
	}
	for _, pair := range [][2]string{{"bproc/master", "bproc/slave"}, {"bproc/slave", "bproc/master"}, {"bproc/slave", "bproc/ghost"}} {
		if slices.ContainsFunc(packages[pair[0]].Deps, func(dep string) bool { return dep == pair[1] || strings.HasPrefix(dep, pair[1]+"/") }) {
			t.Errorf("%s needs %s", pair[0], pair[1])
		}
	}
}

// short is the directory of a package of ours in the module.
func short(importPath string) string {
	if importPath == "bproc" {
		return "."
	}
	return strings.TrimPrefix(importPath, "bproc/")
}

// TestLinked checks what commands link: their start-up time depends on it, and what a privileged
// command can be attacked by.
func TestLinked(t *testing.T) {
	packages := list(t, "1")
	const libcontainer = "github.com/opencontainers/runc/libcontainer"
	for name, p := range packages {
		if ours(name) && name != "bproc/slave/space" && slices.ContainsFunc(p.Imports, func(i string) bool { return within(i, libcontainer) }) {
			t.Errorf("%s imports libcontainer", name)
		}
	}
	clients := []string{"net/http", "crypto/tls", "github.com/hashicorp/yamux", "github.com/cilium/ebpf", "bproc/wire/link", libcontainer}
	for command, not := range map[string][]string{
		"bpsh":     append([]string{"github.com/spf13/cobra", "text/template"}, clients...),
		"bprsh":    append([]string{"github.com/spf13/cobra", "text/template"}, clients...),
		"bpstat":   clients,
		"bpns":     append([]string{"net", "github.com/spf13/cobra", "github.com/hanwen/go-fuse/v2/fuse"}, clients...),
		"bpprocfs": {"github.com/cilium/ebpf", libcontainer},
		"bpcheck":  {libcontainer},
		"bpctl":    clients,
		"bpjob":    clients,
		"bpcp":     {"net/http", "github.com/hashicorp/yamux", "github.com/cilium/ebpf", "bproc/wire/link", libcontainer},
		"bpjail":   append([]string{"net", "github.com/spf13/cobra"}, clients...),
		"bpinit":   append([]string{"net/http", "github.com/spf13/cobra"}, clients...),
		"bpkeeper": clients,
		"bpmaster": {"github.com/cilium/ebpf", libcontainer},
	} {
		p := packages["bproc/cmd/"+command]
		if p == nil {
			t.Errorf("there is no command %s", command)
			continue
		}
		for _, dep := range p.Deps {
			if slices.ContainsFunc(not, func(n string) bool { return within(dep, n) }) {
				t.Errorf("%s links %s", command, dep)
			}
			// The standard library has pure Go for what it does by cgo.
			if d := packages[dep]; d != nil && !d.Standard && len(d.CgoFiles) > 0 {
				t.Errorf("%s links %s, which needs cgo", command, dep)
			}
		}
	}
	if !slices.Contains(packages["bproc/cmd/bpslave"].Deps, libcontainer) {
		t.Error("bpslave does not link libcontainer: this test looks for the wrong package")
	}
	static := list(t, "0")
	for _, command := range []string{"bpsh", "bprsh", "bpstat", "bpctl", "bpcp", "bpjob", "bpmaster", "bpkeeper", "bpinit", "bpns", "bpprocfs", "bpcheck", "bpgroups", "bpjail"} {
		if slices.Contains(static["bproc/cmd/"+command].Deps, "runtime/cgo") {
			t.Errorf("%s cannot be built without cgo", command)
		}
	}
}

// within reports whether a package is another one or below it.
func within(importPath, tree string) bool {
	return importPath == tree || strings.HasPrefix(importPath, tree+"/")
}

// TestExported looks for types of our other packages in the API for programs: only unexported
// fields and the bodies of functions may have them.
func TestExported(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		foreign := map[string]bool{}
		for _, i := range file.Imports {
			if p := strings.Trim(i.Path.Value, `"`); ours(p) {
				foreign[path.Base(p)] = true
			}
		}
		ast.FileExports(file)
		for _, decl := range file.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BlockStmt, *ast.ValueSpec: // values, which have types of this package, or are errors
					return false
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && foreign[x.Name] {
						t.Errorf("%s: %s.%s is of another package", set.Position(n.Pos()), x.Name, n.Sel)
					}
				}
				return true
			})
		}
	}
}

func TestEveryPackageIsDocumented(t *testing.T) {
	packages := list(t, "1")
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if p := packages[name]; ours(name) && p.Doc == "" {
			t.Errorf("%s has no package comment", name)
		}
	}
}
