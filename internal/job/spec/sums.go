package spec

import (
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
)

// Sums returns, for each file of a job by its relative path, a text that identifies its mode and
// contents. The directory may be a symbolic link of root's.
func Sums(dir string) (map[string]string, error) {
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
			sums[key(rel)], err = sum(path, d)
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

func sum(path string, d fs.DirEntry) (string, error) {
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
		if _, err := io.Copy(h, f); err != nil {
			return "", err
		}
	}
	return info.Mode().String() + " " + hex.EncodeToString(h.Sum(nil)), nil
}
