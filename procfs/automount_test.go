package procfs

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// automounts mounts procfs with an automatic mount, where systemd has one, another procfs on it, which hides that,
// and in this one autofs again, with tmpfs on it, where the hidden name is not. The kernel lets those in the
// group of the server of autofs pass, and does not ask the server.
const automounts = `auto() { mount -i -t autofs -o fd=3,pgrp=$$,minproto=5,maxproto=5,direct test $1; }
umount -l /proc && mount -t proc test /proc && auto /proc/sys/fs/binfmt_misc && mount -t proc test /proc &&
auto /proc/sys/fs && mount -t tmpfs test /proc/sys/fs && echo mounted && read end`

// TestKeptProcCanBeUnmounted copies the procfs of another PID namespace as Keep does, with an
// automatic mount in it, which has another mount on it.
func TestKeptProcCanBeUnmounted(t *testing.T) {
	server, kernel, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	defer kernel.Close()
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "private", "--pid", "--fork", "setsid", "sh", "-c", automounts)
	cmd.ExtraFiles, cmd.Stderr = []*os.File{kernel}, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "mounted\n" {
		t.Fatalf("the mount namespace: %q, %v", line, err)
	}
	for _, tc := range []struct {
		name      string
		automatic bool
		want      error
	}{
		{"with all mounts", true, unix.EBUSY},
		{"without automatic ones", false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tree, err := copyProc(cmd.Process.Pid, tc.automatic)
			if err != nil {
				t.Fatal(err)
			}
			at := t.TempDir()
			if err := attach(tree, at); err != nil {
				t.Fatal(err)
			}
			if err := unix.Unmount(at, 0); !errors.Is(err, tc.want) {
				t.Errorf("unmount: got %v, want %v", err, tc.want)
			}
			if tc.want != nil {
				if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
