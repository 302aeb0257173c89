package coretest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport lists the packages that know nothing of this machine.
var mayImport = []string{
	"bytes", "cmp", "encoding/binary", "encoding/json", "errors", "fmt", "maps", "slices", "strconv", "strings", "time", "unicode",
	"bproc/internal/unacked", "bproc/pidmap", "bproc/wire",
	"golang.org/x/sys/unix", // for constants: see mayCall
}

// mayUse lists what a core may use of packages that also know this machine: constants and
// conversions, whose results are the same everywhere and always. Constants of package unix are all
// in capitals.
var mayUse = map[string][]string{
	"fmt":  {"Errorf", "Fprint", "Fprintf", "Fprintln", "Sprint", "Sprintf", "Stringer"},
	"time": {"Duration", "Hour", "Microsecond", "Millisecond", "Minute", "Nanosecond", "Second", "Time", "Unix"},
	"unix": {"Errno", "ErrnoName", "Signal", "SignalName"},
}

// Pure checks the package in the test's directory. The outputs of a core must depend on its inputs
// alone, and its state must be printable. So a core imports nothing that knows this machine, starts
// no goroutines, takes no locks, and stores no functions or channels.
func Pure(t *testing.T) {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	set, looked := token.NewFileSet(), 0
	for _, entry := range files {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		looked++
		for _, problem := range impure(file) {
			t.Errorf("%v: %s", set.Position(problem.at), problem.what)
		}
	}
	if looked < 5 {
		t.Errorf("only %d files were looked at", looked)
	}
}

type problem struct {
	at   token.Pos
	what string
}

// impure returns the constructs that a core must not contain.
func impure(file *ast.File) (all []problem) {
	for _, spec := range file.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); !slices.Contains(mayImport, path) {
			all = append(all, problem{spec.Pos(), "import of " + path})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if what := forbidden(n); what != "" {
			all = append(all, problem{n.Pos(), what})
		}
		return true
	})
	for _, d := range file.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.VAR && keepsFunction(d) {
			all = append(all, problem{d.Pos(), "a variable that keeps a function"})
		}
	}
	return all
}

// forbidden says what is wrong with a construct in a core; empty: nothing.
func forbidden(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a goroutine"
	case *ast.SelectStmt, *ast.ChanType, *ast.SendStmt:
		return "a channel"
	case *ast.ImportSpec:
		if n.Name != nil {
			return "another name for a package"
		}
	case *ast.TypeSpec:
		if keepsFunction(n.Type) {
			return "a type that keeps a function"
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
			return "output"
		}
	case *ast.SelectorExpr:
		if of, ok := n.X.(*ast.Ident); ok && mayUse[of.Name] != nil && !isAllowed(of.Name, n.Sel.Name) {
			return "use of " + of.Name + "." + n.Sel.Name
		}
	}
	return ""
}

// keepsFunction reports whether a type or variable is a function or contains one.
func keepsFunction(of ast.Node) bool {
	found := false
	ast.Inspect(of, func(n ast.Node) bool {
		if _, ok := n.(*ast.InterfaceType); ok {
			return false // skip its methods
		}
		_, ok := n.(*ast.FuncType)
		found = found || ok
		return !found
	})
	return found
}

// isAllowed reports whether a core may use a name of a package.
func isAllowed(pkg, name string) bool {
	return slices.Contains(mayUse[pkg], name) || pkg == "unix" && strings.ToUpper(name) == name
}
