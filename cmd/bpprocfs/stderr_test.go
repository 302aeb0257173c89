package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
)

// patience bounds the wait for a view.
const patience = 20 * time.Second

// inMounts starts a shell script in a mount namespace of its own. Its $1 is a directory with bpprocfs
// under two names and a directory named view. Descriptor 3 is errs. When its input ends the script
// must unmount the view.
func inMounts(t *testing.T, script string, errs *os.File) (in io.Closer, out *bufio.Reader) {
	t.Helper()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bpprocfs", "mount.fuse.bpprocfs"} {
		if err := os.Symlink(exe, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "view"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", script, "sh", dir)
	cmd.Env = append(os.Environ(), "BPROC_SOCKET="+filepath.Join(dir, "none"))
	cmd.ExtraFiles = []*os.File{errs}
	cmd.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	told, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		told.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("script: %v", err)
		}
	})
	if err := answers.(*os.File).SetReadDeadline(time.Now().Add(limit.Scaled(patience))); err != nil {
		t.Fatal(err)
	}
	return told, bufio.NewReader(answers)
}

// expect reads a line of a script.
func expect(t *testing.T, out *bufio.Reader, want string) {
	t.Helper()
	if got, err := out.ReadString('\n'); got != want+"\n" {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// TestHelperReleasesStderr mounts a view by the helper, and reads its error output to the end while
// the view is mounted.
func TestHelperReleasesStderr(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, out := inMounts(t, `
"$1/mount.fuse.bpprocfs" none "$1/view" -o lazy 2>&3 3>&-
exec 3>&-
grep -q fuse.bpprocfs /proc/mounts && echo mounted
read line
umount -l "$1/view"`, w)
	w.Close()
	expect(t, out, "mounted")
	if err := r.SetReadDeadline(time.Now().Add(limit.Scaled(patience))); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || len(text) > 0 {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestUnreadLog has a view log much when nobody reads it any more.
func TestUnreadLog(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_, out := inMounts(t, `
"$1/bpprocfs" --log-level debug "$1/view" 2>&3 3>&- &
exec 3>&-
until grep -q fuse.bpprocfs /proc/mounts; do kill -0 $! || exit 1; sleep 0.01; done
ls "$1/view" >/dev/null && ls "$1/view" >/dev/null && kill -0 $! && echo shown
read line
kill $!
wait $!`, w)
	w.Close()
	r.Close()
	expect(t, out, "shown")
}
