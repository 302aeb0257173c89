package jail

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The front end is told that a program is executed right before execve(2): afterwards there is no
// bpjail. So the format of the program is checked first, as the kernel will do.

// command is what is executed.
type command struct {
	args  []string
	misc  miscFormats
	bound *os.File // the limit of processes, if there is one
	files uint64   // the limit of open files; 0: none
}

// headSize is how much of a file the kernel looks at to find its format (BINPRM_BUF_SIZE).
const headSize = 256

// maxScripts is how many interpreters can be scripts, one of the other.
const maxScripts = 4

// format returns an error if the kernel will not execute a file because of its contents.
func (c *command) format(path string) error {
	for range maxScripts {
		interpreter, err := c.interpreter(path)
		if err != nil {
			return fmt.Errorf("%s %w: %w", path, errNotExecuted, err)
		}
		if interpreter == "" {
			return nil
		}
		if err := executable(interpreter); err != nil {
			return fmt.Errorf("%s %w: its interpreter: %v", path, errNotExecuted, err) //nolint:errorlint // another program is not found
		}
		path = interpreter
	}
	return nil
}

// interpreter returns the interpreter of a file that the kernel can execute, or "" if it has none,
// or only the kernel knows.
func (c *command) interpreter(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", nil //nolint:nilerr // what can be executed need not be readable
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	name, is := "", false
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte("#!")):
		name, is = scriptInterpreter(head[2:])
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		name, is = elfInterpreter(f)
	}
	if !is && !c.misc.has(path, head) {
		return "", fmt.Errorf("%w: it is neither a program for this machine nor a script with #! at its beginning", unix.ENOEXEC)
	}
	return name, nil
}

// scriptInterpreter returns the interpreter in the first line of a script, after #!.
func scriptInterpreter(head []byte) (name string, ok bool) {
	line, _, whole := bytes.Cut(head, []byte("\n"))
	line = bytes.TrimLeft(line, " \t")
	end := bytes.IndexAny(line, " \t\x00")
	if end >= 0 {
		line = line[:end]
	}
	// A name at the end of what the kernel looks at may be longer.
	return string(line), len(line) > 0 && (whole || end >= 0 || len(head) < headSize-2)
}

// elfInterpreter returns the dynamic linker of a program for this machine, or "". Of a 32-bit
// program only the kernel knows.
func elfInterpreter(f io.ReaderAt) (name string, ok bool) {
	var h elf.Header64
	in := io.NewSectionReader(f, 0, 1<<62)
	if binary.Read(in, binary.LittleEndian, &h) != nil || !slices.Contains(machines, elf.Machine(h.Machine)) {
		return "", false
	}
	if elf.Class(h.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return "", true
	}
	for i := range int64(h.Phnum) {
		var p elf.Prog64
		if _, err := in.Seek(int64(h.Phoff)+i*int64(h.Phentsize), io.SeekStart); err != nil || binary.Read(in, binary.LittleEndian, &p) != nil {
			return "", false
		}
		if elf.ProgType(p.Type) != elf.PT_INTERP {
			continue
		}
		text := make([]byte, min(p.Filesz, unix.PathMax))
		if _, err := f.ReadAt(text, int64(p.Off)); err != nil {
			return "", false
		}
		return strings.TrimRight(string(text), "\x00"), true
	}
	return "", true
}
