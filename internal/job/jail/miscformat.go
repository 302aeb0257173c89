package jail

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// miscFormats are the formats that were registered with binfmt_misc
// (Documentation/admin-guide/binfmt-misc.rst of the kernel).
type miscFormats struct {
	all     []miscFormat
	unknown bool // they could not be read
}

// miscFormat is one of them: a file has the bytes of magic, as far as mask says, or an extension.
type miscFormat struct {
	offset      int
	magic, mask []byte
	extension   string // with its point
}

// has reports whether the kernel may execute a file that begins with head as one of the formats.
func (m *miscFormats) has(path string, head []byte) bool {
	return m.unknown || slices.ContainsFunc(m.all, func(f miscFormat) bool { return f.is(path, head) })
}

func (f *miscFormat) is(path string, head []byte) bool {
	if f.extension != "" {
		return strings.HasSuffix(filepath.Base(path), f.extension)
	}
	if len(f.magic) == 0 || len(head) < f.offset+len(f.magic) {
		return false
	}
	for i, want := range f.magic {
		mask := byte(0xff)
		if i < len(f.mask) {
			mask = f.mask[i]
		}
		if (head[f.offset+i]^want)&mask != 0 {
			return false
		}
	}
	return true
}

// readMiscFormats reads the formats of the node. It must be called as root.
func readMiscFormats() (m miscFormats) {
	const name = "binfmt_misc"
	if known, err := os.ReadFile("/proc/filesystems"); err == nil && !bytes.Contains(known, []byte("\t"+name+"\n")) {
		return m // it would be loaded
	}
	m.unknown = readNew(name, func(file string, text []byte) {
		if file == "register" || file == "status" {
			return
		}
		if f, ok := parseMiscFormat(string(text)); ok {
			m.all = append(m.all, f)
		}
	}) != nil
	return m
}

// parseMiscFormat parses the file of a format. It returns false if the format is switched off.
func parseMiscFormat(text string) (f miscFormat, ok bool) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "enabled":
			ok = true
		case "extension":
			f.extension = value
		case "offset":
			f.offset, _ = strconv.Atoi(value) // the kernel's own number
		case "magic":
			f.magic, _ = hex.DecodeString(value) // and digits
		case "mask":
			f.mask, _ = hex.DecodeString(value)
		}
	}
	return f, ok
}

// readNew reads all files of a file system that may not be mounted anywhere.
func readNew(name string, f func(file string, text []byte)) error {
	fs, err := unix.Fsopen(name, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return err
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	files, err := os.ReadDir(link(fd))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(link(fd), file.Name()))
		if err != nil && file.Name() != "register" { // which can only be written
			return err
		}
		f(file.Name(), text)
	}
	return nil
}
