package spec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"bproc/internal/ownthread"
)

// OwnSums is Sums for the files of a job on this machine. Those of an ordinary user's job are read as
// the user, who can change meanwhile what their paths lead to.
func OwnSums(ctx context.Context, s *Spec) (sums map[string]string, err error) {
	if !s.Ordinary {
		return Sums(ctx, s.JobDir())
	}
	err = ownthread.Do(func() error {
		err := SetGroups(s.Groups)
		if err == nil {
			SetFileUser(s.UID, s.GID)
			sums, err = sumsFor(ctx, s.JobDir(),
				func(uid uint32) bool { return uid == s.UID },
				func(gid uint32) bool { return gid == s.GID || slices.Contains(s.Groups, gid) })
		}
		return err
	})
	return sums, err
}

// Sums returns, for each file of a job by its relative path, a text that identifies its mode and
// contents. For each file and directory, it also returns its [attributes], by the path with a slash at
// the end. The directory may be a symbolic link of root's. Files can be so large that reading them
// takes hours: the context bounds it. [MaxAnswer] bounds their number.
func Sums(ctx context.Context, dir string) (map[string]string, error) {
	return sumsFor(ctx, dir, func(uint32) bool { return true }, func(uint32) bool { return true })
}

// sumsFor is Sums for a user who can give files to some users and groups only.
func sumsFor(ctx context.Context, dir string, uid, gid func(uint32) bool) (map[string]string, error) {
	sums := make(map[string]string)
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("files of the job: %w", err)
	}
	size := 0
	add := func(name, text string) error {
		if size += len(name) + len(text); size > MaxAnswer {
			return fmt.Errorf("%s has too many: their names and sums are longer than %d MiB", dir, MaxAnswer>>20)
		}
		sums[name] = text
		return nil
	}
	err = walk(ctx, dir, func(path string, info fs.FileInfo) error {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := add(key(rel)+"/", attributes(info, uid, gid)); err != nil || info.IsDir() {
			return err
		}
		s, err := sum(ctx, path, info)
		if err != nil {
			return err
		}
		return add(key(rel), s)
	})
	if err != nil {
		return nil, fmt.Errorf("files of the job: %w", err)
	}
	return sums, nil
}

// batch is the number of entries that are read from a directory at a time: [filepath.WalkDir] would
// hold all of them in memory.
const batch = 1024

// walk calls visit for a directory and all files below it.
func walk(ctx context.Context, dir string, visit func(path string, info fs.FileInfo) error) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if err := visit(dir, info); err != nil || !info.IsDir() {
		return err
	}
	for dirs := []string{dir}; len(dirs) > 0; {
		dir := dirs[len(dirs)-1]
		below, err := walkOne(ctx, dir, visit)
		if err != nil {
			return err
		}
		dirs = append(dirs[:len(dirs)-1], below...)
	}
	return nil
}

// walkOne calls visit for the files in a directory, and returns the directories among them.
func walkOne(ctx context.Context, dir string, visit func(path string, info fs.FileInfo) error) (dirs []string, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for {
		list, err := f.ReadDir(batch)
		if errors.Is(err, io.EOF) {
			return dirs, nil
		}
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			info, err := d.Info()
			if err != nil {
				return nil, err
			}
			path := filepath.Join(dir, d.Name())
			if err := visit(path, info); err != nil {
				return nil, err
			}
			if info.IsDir() {
				dirs = append(dirs, path)
			}
		}
	}
}

// key returns a path as it survives JSON, which is UTF-8.
func key(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	return strconv.QuoteToASCII(path)
}

// HaveAll reports whether have contains all sums of want.
func HaveAll(have, want map[string]string) bool {
	for name, s := range want {
		if !slices.EqualFunc(strings.Fields(have[name]), strings.Fields(s), func(h, w string) bool { return w == anyValue || h == w }) {
			return false
		}
	}
	return true
}

// Split separates attributes from the sums of files.
func Split(all map[string]string) (sums, attributes map[string]string) {
	sums, attributes = make(map[string]string), make(map[string]string)
	for name, s := range all {
		if strings.HasSuffix(name, "/") {
			attributes[name] = s
		} else {
			sums[name] = s
		}
	}
	return sums, attributes
}

// anyValue stands for an attribute that a copy does not have.
const anyValue = "-"

// attributes returns the owner, the group and the mode of a file. Copies that an ordinary user makes
// have no other owner, no groups of which the user is no member, and then no set-id bits.
func attributes(info fs.FileInfo, uid, gid func(uint32) bool) string {
	st := info.Sys().(*syscall.Stat_t)
	owner, group, special := strconv.Itoa(int(st.Uid)), strconv.Itoa(int(st.Gid)), strconv.FormatUint(uint64(st.Mode&0o7000), 8)
	if !uid(st.Uid) {
		owner, special = anyValue, anyValue
	}
	if !gid(st.Gid) {
		group, special = anyValue, anyValue
	}
	return fmt.Sprintf("%s %s %s %o", owner, group, special, st.Mode&0o777)
}

func sum(ctx context.Context, path string, info fs.FileInfo) (string, error) {
	h := sha256.New()
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		_, _ = io.WriteString(h, target) // never fails
	case info.Mode().IsRegular():
		// The user may have replaced the file by now.
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() {
			return "", errors.Join(fmt.Errorf("%s changes", path), err)
		}
		if _, err := io.Copy(h, until(ctx, f)); err != nil {
			return "", err
		}
	}
	// Set-ID bits are not in the sum: a copy whose owner could not be set has none, which only the attributes allow for.
	return (info.Mode() &^ (fs.ModeSetuid | fs.ModeSetgid)).String() + " " + hex.EncodeToString(h.Sum(nil)), nil
}

// until returns a reader that fails when the context is done.
func until(ctx context.Context, in io.Reader) io.Reader {
	return reader(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return in.Read(p)
	})
}

// reader is a function that reads.
type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }
