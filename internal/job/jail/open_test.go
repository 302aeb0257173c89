package jail

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEnsure checks that a directory that is made belongs to the job's user.
func TestEnsure(t *testing.T) {
	base := t.TempDir()
	fd, err := ensure(base, "job/tmp", owner{1000, 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if got, err := ownerOf(fd); err != nil || got.uid != 1000 {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, want := range map[string]string{"job": "0 755", "job/tmp": "1000 700"} {
		if got := seen(t, filepath.Join(base, name)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestCreateReplaced checks that a directory that has come to the place of a new one keeps its owner.
func TestCreateReplaced(t *testing.T) {
	base := t.TempDir()
	lay(t, filepath.Join(base, "job/tmp"), 0, private)
	fd, err := create(base, []string{"job", "tmp"}, owner{1000, 1000}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if got, err := ownerOf(fd); err != nil || got.uid != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, tt := range []struct {
		name string
		uid  int
		mode os.FileMode
		file bool // there is a file in it
		want int  // its owner
	}{
		{"new", 0, private, false, 1000},
		{"public", 0, 0o755, false, 0},
		{"full", 0, private, true, 0},
		{"another's", 1001, private, false, 1001},
	} {
		dir := filepath.Join(base, tt.name)
		fd := lay(t, dir, tt.uid, tt.mode)
		if tt.file {
			if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := giveNew(fd, owner{1000, 1000})
		if got, failed := ownerOf(fd); failed != nil || got.uid != tt.want || (err == nil) != (tt.want == 1000) {
			t.Errorf("%s: got %+v, %v", tt.name, got, err)
		}
	}
}
