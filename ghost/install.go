package ghost

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// imageCapabilities are the file capabilities of the image, permitted and effective: with them a
// ghost chooses the number of its child and takes on the credentials of its process
// (capabilities(7)). The comment at become explains why its user cannot use them.
const imageCapabilities uint64 = 1<<unix.CAP_CHECKPOINT_RESTORE | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID

// Install writes the ghost's image to a file, with its file capabilities. It leaves a file with the
// right bytes in place: a keeper recognizes ghosts by the file that they run.
func Install(path string) error {
	if Check(path) == nil {
		return nil
	}
	image, err := Image(runtime.GOARCH)
	if err != nil {
		return err
	}
	if isRoots(path) && hasBytes(path, image) { // its capabilities were lost, as in a copy
		return setCapability(path, path)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".ghost-*")
	if err != nil {
		return fmt.Errorf("ghost image: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // a no-op after the rename
	_, err = tmp.Write(image)
	err = errors.Join(err, tmp.Chmod(0o755), tmp.Close())
	if err != nil {
		return fmt.Errorf("ghost image: %w", err)
	}
	if err := setCapability(tmp.Name(), path); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("ghost image: %w", err)
	}
	return nil
}

// isRoots reports whether a path is that of a file that only root can write, and everybody can execute.
func isRoots(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Uid == 0 && st.Mode&0o7777 == 0o755
}

func hasBytes(path string, want []byte) bool {
	text, err := os.ReadFile(path)
	return err == nil && bytes.Equal(text, want)
}

// setCapability gives a file the image's capabilities. It is, or is going to be, the image at path.
func setCapability(file, path string) error {
	if err := unix.Setxattr(file, "security.capability", fileCapability(), 0); err != nil {
		return fmt.Errorf("file capability of the ghost image %s: %w; it needs root, and a file system with extended attributes that is mounted without nosuid", path, err)
	}
	return nil
}

// fileCapability returns the value of the extended attribute: struct vfs_cap_data of
// linux/capability.h, revision 2.
func fileCapability() []byte {
	const (
		revision2 = 0x02000000
		effective = 0x000001
	)
	low, high := uint32(imageCapabilities&(1<<32-1)), uint32(imageCapabilities>>32)
	var b []byte
	for _, word := range []uint32{revision2 | effective, low, 0, high, 0} { // permitted and inheritable, low then high
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	return b
}

// Check returns an error that says why the image at path cannot be used, or nil.
func Check(path string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return fmt.Errorf("ghost image %s: %w; make it with 'bpkeeper --install-ghost %s'", path, err, path)
	}
	if st.Flags&unix.ST_NOSUID != 0 {
		return fmt.Errorf("ghost image %s: its file system is mounted with nosuid, which takes the image's capability away", path)
	}
	image, err := Image(runtime.GOARCH)
	if err != nil {
		return err
	}
	if !hasBytes(path, image) {
		return fmt.Errorf("ghost image %s is not of this version; make it with 'bpkeeper --install-ghost %s'", path, path)
	}
	want := fileCapability()
	have := make([]byte, len(want)+4) // revision 3 is longer
	n, err := unix.Getxattr(path, "security.capability", have)
	if err != nil || !bytes.Equal(have[:n], want) {
		return fmt.Errorf("ghost image %s has not the file capabilities of this version; make it with 'bpkeeper --install-ghost %s'", path, path)
	}
	return nil
}
