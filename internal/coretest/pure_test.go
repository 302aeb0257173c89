package coretest

import (
	"go/parser"
	"go/token"
	"testing"
)

// TestImpureIsFound checks that forbidden constructs are found.
func TestImpureIsFound(t *testing.T) {
	for _, source := range []string{
		`import "os"`, `import "sync"`, `import "context"`, `import "bproc/wire/link"`,
		`func f() { go f() }`, `type t struct{ c chan int }`, `type t struct{ f func() }`, `type t struct{ all []func() }`,
		`type t struct{ m map[int]func(int) error }`, `import "time"; var now = time.Now()`, `import "golang.org/x/sys/unix"; var err = unix.Kill(1, 0)`,
		`func f(c chan int) { c <- 1 }`, `func f() { select {} }`,
		`type f func()`, `var f = func() {}`, `var table = map[string]func(){}`, `import "time"; func f() { now := time.Now; now() }`,
		`import clock "time"`, `import . "time"`, `import "time"; type t struct{ at *time.Timer }`, `import "fmt"; func f() { fmt.Println() }`,
		`func f() { println() }`, `import "golang.org/x/sys/unix"; type t struct{ at unix.Stat_t }`,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "made_up.go", "package core\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if len(impure(file)) == 0 {
			t.Errorf("not found: %s", source)
		}
	}
}
