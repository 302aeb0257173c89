package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMasterOf(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	full := file("full", "# MASTER=no\nMASTER=old\nMASTER=\"front:99\"\nOTHER=1\n")
	empty := file("empty", "#MASTER=front\n")
	for _, tt := range []struct {
		operands   []string
		file, want string
		err        string
	}{
		{[]string{"front"}, full, "front:2223", ""},
		{[]string{"::1"}, full, "[::1]:2223", ""},
		{[]string{"[::1]"}, full, "[::1]:2223", ""},
		{[]string{"_bproc._tcp.example.org"}, full, "_bproc._tcp.example.org:2223", ""},
		{nil, full, "front:99", ""},
		{nil, empty, "", "no master given, and " + empty + " sets no MASTER"},
		{nil, "/no/file", "", "no master given, and /no/file sets no MASTER"},
	} {
		got, err := masterOf(tt.operands, tt.file)
		if got != tt.want || err == nil && tt.err != "" || err != nil && err.Error() != tt.err {
			t.Errorf("%v, %s: got %q, %v; want %q, %s", tt.operands, tt.file, got, err, tt.want, tt.err)
		}
	}
}
