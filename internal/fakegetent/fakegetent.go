// Package fakegetent puts a getent with users and groups of its own on the path of a test.
package fakegetent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Alice is a script whose only user is alice, 4000010001, of the group hatters, 4000010002.
const Alice = `case "$1 $3" in
"passwd alice"|"passwd 4000010001") echo alice:x:4000010001:4000010002::/home/alice:/bin/zsh ;;
"group hatters"|"group 4000010002") echo hatters:x:4000010002:alice,bob ;;
*) exit 2
esac`

// Install puts the script of a getent on the path. It returns a function that returns the arguments
// of all its executions so far.
func Install(t *testing.T, script string) (runs func() []string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	text := "#!/bin/sh\necho \"$*\" >>'" + log + "'\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "getent"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() []string {
		text, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	}
}
