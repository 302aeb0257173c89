package ghost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Install writes the ghost's image to a file, with the file capability that
// lets a ghost choose the number of its child (capabilities(7):
// CAP_CHECKPOINT_RESTORE, permitted and effective).
func Install(path string) error {
	image, err := Image(runtime.GOARCH)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".ghost-*")
	if err != nil {
		return fmt.Errorf("ghost image: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // is no more when all went well
	_, err = tmp.Write(image)
	err = errors.Join(err, tmp.Chmod(0o755), tmp.Close())
	if err != nil {
		return fmt.Errorf("ghost image: %w", err)
	}
	if err := unix.Setxattr(tmp.Name(), "security.capability", fileCapability(), 0); err != nil {
		return fmt.Errorf("file capability of the ghost image %s: %w; it needs root, and a file system with extended attributes that is mounted without nosuid", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("ghost image: %w", err)
	}
	return nil
}

// fileCapability returns the attribute's value: struct vfs_cap_data of
// linux/capability.h, revision 2.
func fileCapability() []byte {
	const (
		revision2 = 0x02000000
		effective = 0x000001
	)
	bit := uint32(1) << (unix.CAP_CHECKPOINT_RESTORE % 32)
	var b []byte
	for _, word := range []uint32{revision2 | effective, 0, 0, bit, 0} { // permitted and inheritable, low then high
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	return b
}

// Check reports why the image at path cannot be used, if so.
func Check(path string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return fmt.Errorf("ghost image %s: %w; make it with 'bpkeeper --install-ghost %s'", path, err, path)
	}
	if st.Flags&unix.ST_NOSUID != 0 {
		return fmt.Errorf("ghost image %s: its file system is mounted with nosuid, which takes the image's capability away", path)
	}
	if _, err := unix.Getxattr(path, "security.capability", nil); err != nil {
		return fmt.Errorf("ghost image %s has no file capability; make it with 'bpkeeper --install-ghost %s'", path, path)
	}
	return nil
}
