package supervise

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// status returns the text of a status file, with the lines that matter.
func status(name, parent, tgid, pgid, sid string) string {
	return fmt.Sprintf("Name:\t%s\nTgid:\t1\nPPid:\t%s\nGroups:\t0 1 \nNStgid:\t%s\nNSpid:\t%s\nNSpgid:\t%s\nNSsid:\t%s\n", name, parent, tgid, tgid, pgid, sid)
}

func TestParseStatus(t *testing.T) {
	in := identity{pid: 70001, pgid: 70000, sid: 69999, parent: 1200}
	for _, c := range []struct {
		name, status string
		level        Level
		here         bool
		want         identity
		ok           bool
	}{
		{"in the space", status("x", "1200", "1234\t70001", "1230\t70000", "1\t69999"), Outside, true, in, true},
		{"of a group of the node", status("x", "1200", "1234\t70001", "1230\t0", "1\t0"), Outside, true, identity{pid: 70001, parent: 1200}, true},
		{"seen from inside", status("x", "1200", "70001", "70000", "69999"), Inside, true, in, true},
		{"further in, seen from inside", status("x", "1200", "70001\t5", "70000\t1", "69999\t0"), Inside, true, identity{}, false},
		{"further in, as another", status("x", "1200", "70001\t5", "70000\t1", "69999\t0"), Inside, false, in, true},
		{"outside", status("x", "1200", "1234", "1230", "1"), Outside, true, identity{}, false},
		{"further in", status("x", "1200", "1234\t70001\t5", "1\t1\t1", "1\t1\t1"), Outside, true, identity{}, false},
		{"name that tries", status("NStgid:\t1\t2 PPid:\t7", "1200", "1234\t70001", "1230\t70000", "1\t69999"), Outside, true, in, true},
		{"cut off", strings.TrimSuffix(status("x", "1200", "1234\t70001", "1230\t70000", "1\t69999"), "\n"), Outside, true, identity{}, false},
		{"not a number", status("x", "12x", "1234\t70001", "1230\t70000", "1\t69999"), Outside, true, identity{}, false},
		{"nothing", "", Outside, true, identity{}, false},
	} {
		if got, ok := parseStatus([]byte(c.status), c.level, c.here); got != c.want || ok != c.ok {
			t.Errorf("%s: got %+v, %v, want %+v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// ownView reads this machine's procfs, as init reads the space's.
func ownView(t *testing.T) procView {
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(proc) })
	ns := openNamespace(os.Getpid())
	if ns >= 0 {
		t.Error("a process that is no init has a namespace")
	}
	return procView{level: Inside, own: proc, proc: proc, ns: ns}
}

// The lines are in this kernel's status files, in the form above.
func TestStatusFiles(t *testing.T) {
	v := ownView(t)
	sid, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	want := identity{pid: wire.PID(os.Getpid()), pgid: wire.PID(unix.Getpgrp()), sid: wire.PID(sid), parent: uint32(os.Getppid())}
	if got, ok := v.process(want.pid); got != want || !ok {
		t.Errorf("process: got %+v, %v, want %+v", got, ok, want)
	}
	if got, ok := v.caller(uint32(unix.Gettid())); got != want || !ok {
		t.Errorf("caller: got %+v, %v, want %+v", got, ok, want)
	}
	if got, ok := v.number(uint32(unix.Gettid())); got != want.pid || !ok {
		t.Errorf("number: got %v, %v, want %v", got, ok, want.pid)
	}
	if !v.executed(want.pid) {
		t.Error("this is a program that was not executed")
	}
	if _, ok := v.process(1 << 22); ok {
		t.Error("there is a process beyond all numbers")
	}
	if !v.exists(want.pid) || !v.exists(wire.PID(unix.Gettid())) || v.exists(1<<22) {
		t.Error("exists is wrong about this process, this thread, or nobody")
	}
}

// The file of a process in very many groups is longer than what is read first.
func TestStatusOfManyGroups(t *testing.T) {
	dir := t.TempDir()
	text := status("x", "1200", "70001", "70000", "69999")
	text = strings.Replace(text, "Groups:\t0 1 ", "Groups:\t"+strings.Repeat("4000000000 ", 60000), 1)
	if err := os.Mkdir(dir+"/70001", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/70001/status", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	want := identity{pid: 70001, pgid: 70000, sid: 69999, parent: 1200}
	if got, ok := (procView{proc: fd, ns: -1}).process(70001); got != want || !ok {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
}

func TestSizesOfNotifications(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"seccomp_data", unsafe.Sizeof(seccompData{}), 64},
		{"seccomp_notif", unsafe.Sizeof(notif{}), 80},
		{"seccomp_notif_resp", unsafe.Sizeof(resp{}), 24},
		// The size is part of an ioctl's number (asm-generic/ioctl.h).
		{"SECCOMP_IOCTL_NOTIF_RECV", unix.SECCOMP_IOCTL_NOTIF_RECV >> 16 & 0x3fff, 80},
		{"SECCOMP_IOCTL_NOTIF_SEND", unix.SECCOMP_IOCTL_NOTIF_SEND >> 16 & 0x3fff, 24},
		{"SECCOMP_IOCTL_NOTIF_ID_VALID", unix.SECCOMP_IOCTL_NOTIF_ID_VALID >> 16 & 0x3fff, 8},
		{"SECCOMP_IOCTL_NOTIF_SET_FLAGS", unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS >> 16 & 0x3fff, 8},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, c.got, c.want)
		}
	}
}
