package source

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

// xattrs returns the extended attributes of a file that this user may read, including access
// control lists (acl(5)).
func (w *walk) xattrs(fd int) ([]stream.Xattr, error) {
	if !w.Xattrs {
		return nil, nil
	}
	names, err := grown(func(b []byte) (int, error) { return unix.Flistxattr(fd, b) })
	if err != nil || len(names) == 0 {
		return nil, err
	}
	var list []stream.Xattr
	for name := range bytes.SplitSeq(bytes.TrimSuffix(names, []byte{0}), []byte{0}) {
		value, err := grown(func(b []byte) (int, error) { return unix.Fgetxattr(fd, string(name), b) })
		switch {
		case errors.Is(err, unix.ENODATA), errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
			continue
		case err != nil:
			return list, fmt.Errorf("extended attribute %s: %w", name, err)
		}
		list = append(list, stream.Xattr{Name: string(name), Value: value})
	}
	return list, nil
}

// grown calls get with a large enough buffer. It returns nil if the file system does not support
// extended attributes.
func grown(get func([]byte) (int, error)) ([]byte, error) {
	for {
		size, err := get(nil)
		if errors.Is(err, unix.ENOTSUP) || err == nil && size == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		buf := make([]byte, size)
		n, err := get(buf)
		if errors.Is(err, unix.ERANGE) {
			continue // the value has grown meanwhile
		}
		return buf[:max(n, 0)], err
	}
}
