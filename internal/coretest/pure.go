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
	"bproc/pidmap", "bproc/wire",
	"golang.org/x/sys/unix", // for constants: see mayCall
}

// mayCall lists the functions of packages unix and time that a core may call: conversions, whose
// results are the same everywhere and always.
var mayCall = []string{"unix.Errno", "unix.Signal", "time.Duration"}

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
		switch n := n.(type) {
		case *ast.GoStmt:
			all = append(all, problem{n.Pos(), "a goroutine"})
		case *ast.SelectStmt, *ast.ChanType, *ast.SendStmt:
			all = append(all, problem{n.Pos(), "a channel"})
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if keepsFunction(field.Type) {
					all = append(all, problem{field.Pos(), "a function that is kept"})
				}
			}
		case *ast.CallExpr:
			if name := called(n); name != "" && !slices.Contains(mayCall, name) {
				all = append(all, problem{n.Pos(), "call of " + name})
			}
		}
		return true
	})
	return all
}

// keepsFunction reports whether a type is a function or contains one.
func keepsFunction(of ast.Expr) bool {
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

// called returns the function of package unix or time that is called.
func called(call *ast.CallExpr) string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if of, ok := selector.X.(*ast.Ident); ok && (of.Name == "unix" || of.Name == "time") {
		return of.Name + "." + selector.Sel.Name
	}
	return ""
}
