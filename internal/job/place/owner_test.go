package place

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// jobIn makes a job with a file below a directory.
func jobIn(t *testing.T, root string) Job {
	t.Helper()
	j := Job{root, "web"}
	if err := os.MkdirAll(filepath.Dir(j.File()), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(j.File(), []byte("processes: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestOwnerOfLink has the job file be a hard link.
func TestOwnerOfLink(t *testing.T) {
	j := jobIn(t, t.TempDir())
	f, err := j.Open()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.Link(j.File(), filepath.Join(j.Root, "other")); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Open(); err == nil || !strings.Contains(err.Error(), "is a hard link") {
		t.Errorf("got %v", err)
	}
}

// serveAs mounts a directory over another as a user would with FUSE.
func serveAs(t *testing.T, user int, dir, over string) {
	t.Helper()
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0) // the server's, which closes it
	if err != nil {
		t.Fatal(err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%[2]d,allow_other", device, user)
	if err := unix.Mount("test", over, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(over, unix.MNT_DETACH) })
	root, err := fs.NewLoopbackRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	server, err := fuse.NewServer(fs.NewNodeFS(root, nil), fmt.Sprintf("/dev/fd/%d", device), &fuse.MountOptions{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve()
	}()
	t.Cleanup(func() {
		if err := unix.Unmount(over, 0); err != nil {
			t.Error(err)
		}
		<-served
	})
	if err := server.WaitMount(); err != nil {
		t.Fatal(err)
	}
}

// TestOwnerOnFUSE has the directory of a job be a file system of a user's, which says that root owns the job file, and of
// root's. Go has one processor, so that a file whose server is waited for behind its back would hold all up.
func TestOwnerOnFUSE(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for user, want := range map[int]string{0: "", 1234: "a file system that user 1234 has mounted"} {
		root, dir := t.TempDir(), t.TempDir()
		j := jobIn(t, dir)
		over := Job{root, j.Name}
		if err := os.MkdirAll(over.Dir(), 0o755); err != nil {
			t.Fatal(err)
		}
		serveAs(t, user, j.Dir(), over.Dir())
		f, err := over.Open()
		if err == nil {
			f.Close()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("mounted by %d: got %v, want %q", user, err, want)
		}
	}
}

// TestOwnerOnUnknownMount has the job file be on a file system that is not mounted anywhere here.
func TestOwnerOnUnknownMount(t *testing.T) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if user, err := mountedBy(fd); err == nil || !strings.HasSuffix(err.Error(), "is not one of this mount namespace") {
		t.Errorf("got user %q, %v", user, err)
	}
}

func TestMounterIn(t *testing.T) {
	for options, want := range map[string]string{
		"rw,user_id=12345,group_id=12345,default_permissions": "12345", "rw,user_id=0": "0", "rw": "0", "": "0",
	} {
		if got := mounterIn(options); got != want {
			t.Errorf("%q: got %q, want %q", options, got, want)
		}
	}
}
