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
	"strconv"
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
			sums, err = Sums(ctx, s.JobDir())
		}
		return err
	})
	return sums, err
}

// Sums returns, for each file of a job by its relative path, a text that identifies its mode and
// contents. The directory may be a symbolic link of root's. Files can be so large that reading them
// takes hours: the context bounds it.
func Sums(ctx context.Context, dir string) (map[string]string, error) {
	sums := make(map[string]string)
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("files of the job: %w", err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			sums[key(rel)], err = sum(ctx, path, d)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("files of the job: %w", err)
	}
	return sums, nil
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
		if have[name] != s {
			return false
		}
	}
	return true
}

func sum(ctx context.Context, path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
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
	return info.Mode().String() + " " + hex.EncodeToString(h.Sum(nil)), nil
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
