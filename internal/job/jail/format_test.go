package jail

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
	"bproc/internal/ownthread"
)

// elfFile returns a program that is only a header and the name of an interpreter.
func elfFile(t *testing.T, class elf.Class, machine elf.Machine, interpreter string) string {
	t.Helper()
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phoff: 64, Phentsize: 56, Phnum: 1}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(class), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	p := elf.Prog64{Type: uint32(elf.PT_INTERP), Off: 64 + 56, Filesz: uint64(len(interpreter)) + 1}
	var b bytes.Buffer
	for _, part := range []any{h, p, []byte(interpreter + "\x00")} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestFormat checks files that the kernel executes, and others, and that the kernel agrees.
func TestFormat(t *testing.T) {
	misc := readMiscFormats()
	own, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	nested := filepath.Join(dir, "nested")
	if err := os.WriteFile(nested, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	long := strings.Repeat("/", headSize) + "bin/sh"
	for name, tt := range map[string]struct {
		text string
		ok   bool
	}{
		"a script":                           {"#!/bin/sh\nexit 0\n", true},
		"a script with an argument":          {"#! \t/bin/sh\t-e\nexit 0\n", true},
		"a script of one line":               {"#!/bin/true", true},
		"a script of a script":               {"#!" + nested + "\n", true},
		"a program":                          {string(own), true},
		"without #!":                         {"exit 0\n", false},
		"empty":                              {"", false},
		"without an interpreter":             {"#! \n", false},
		"a missing interpreter":              {"#!/nowhere/sh\n", false},
		"an interpreter that is a directory": {"#!/tmp\n", false},
		"a name that is too long":            {"#!" + long + "\n", false},
		"of another architecture":            {elfFile(t, elf.ELFCLASS64, elf.EM_RISCV, "/bin/sh"), false},
		"a missing dynamic linker":           {elfFile(t, elf.ELFCLASS64, machines[0], "/nowhere/ld.so"), false},
		"a piece of a program":               {elf.ELFMAG, false},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(path, []byte(tt.text), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		err := (&command{misc: misc}).format(path)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, errNotExecuted) {
			t.Errorf("%s: got %v", name, err)
		}
		if err := exec.Command(path).Run(); (err == nil) != tt.ok && !misc.unknown {
			t.Errorf("%s: the kernel says %v", name, err)
		}
		if !tt.ok {
			continue
		}
		if err := (&command{misc: miscFormats{unknown: true}}).format(path); err != nil {
			t.Errorf("%s, where there are other formats: %v", name, err)
		}
	}
	if err := (&command{misc: miscFormats{unknown: true}}).format(filepath.Join(dir, "of-another-architecture")); err != nil {
		t.Errorf("of another architecture, which may be emulated: %v", err)
	}
}

// TestFormatOfUnreadable checks that a program that its user can only execute is left to the kernel.
func TestFormatOfUnreadable(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "format") // accessible to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "program")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(path, []byte("x"), 0o711)); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if err := new(command).format(path); !errors.Is(err, unix.ENOEXEC) {
		t.Errorf("readable: %v", err)
	}
	if err := ownthread.Do(func() error {
		spec.SetFileUser(65534, 65534)
		return new(command).format(path)
	}); err != nil {
		t.Errorf("unreadable: %v", err)
	}
}

// TestMiscFormats checks formats as binfmt_misc shows them.
func TestMiscFormats(t *testing.T) {
	emulated := "enabled\ninterpreter /usr/bin/qemu-riscv64\nflags: \noffset 0\nmagic 7f454c460201010000000000000000000200f300\nmask ffffffffffffff00fffffffffffffffffeffffff\n"
	riscv := elfFile(t, elf.ELFCLASS64, elf.EM_RISCV, "/bin/sh")
	for _, tt := range []struct {
		name, file, path, head string
		want                   bool
	}{
		{"emulated", emulated, "/bin/x", riscv, true},
		{"of another machine", emulated, "/bin/x", elfFile(t, elf.ELFCLASS64, elf.EM_S390, "/bin/sh"), false},
		{"without #!", emulated, "/bin/x", "echo\n", false},
		{"too short", emulated, "/bin/x", riscv[:19], false},
		{"switched off", strings.Replace(emulated, "enabled", "disabled", 1), "/bin/x", riscv, false},
		{"extension", "enabled\ninterpreter /usr/bin/wine\nflags: \nextension .exe\n", "/bin/x.exe", "", true},
		{"another extension", "enabled\ninterpreter /usr/bin/wine\nflags: \nextension .exe\n", "/bin.exe/x", "", false},
		{"behind an offset", "enabled\ninterpreter /bin/sh\nflags: OC\noffset 3\nmagic 616263\n", "/bin/x", "...abc", true},
		{"not behind an offset", "enabled\ninterpreter /bin/sh\nflags: OC\noffset 3\nmagic 616263\n", "/bin/x", "abcabd", false},
	} {
		var m miscFormats
		if f, ok := parseMiscFormat(tt.file); ok {
			m.all = append(m.all, f)
		}
		if got := m.has(tt.path, []byte(tt.head)); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}
