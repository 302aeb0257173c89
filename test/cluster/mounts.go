package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Prefix is where bproc is installed in a machine.
const Prefix = "/opt/bproc"

// StateDir is on the machine's disk, and survives [Machine.Reboot].
const StateDir = "/var/lib/bproc"

// overlays lets the machine write to dirs without changing the host's files. The changes are in
// memory, which is freed with the mounts.
func overlays(dirs ...string) error {
	if err := mount("tmpfs", "/run", "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}
	for _, dir := range dirs {
		name := strings.ReplaceAll(dir[1:], "/", "-")
		upper, work := filepath.Join("/run", name, "upper"), filepath.Join("/run", name, "work")
		for _, d := range []string{upper, work} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return err
			}
		}
		options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", dir, upper, work)
		if err := mount("overlay", dir, "overlay", 0, options); err != nil {
			return err
		}
	}
	// The overlays hold their layers; the machine's own /run is mounted over it.
	if err := unix.Unmount("/run", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount /run: %w", err)
	}
	return nil
}

// mountSystem mounts each machine's own file systems.
func (s machineSetup) mountSystem() error {
	const none = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	for _, m := range []struct {
		fs, dir, options string
		flags            uintptr
	}{
		{"tmpfs", "/run", "mode=0755", unix.MS_NOSUID | unix.MS_NODEV},
		{"tmpfs", "/dev/shm", "mode=1777", unix.MS_NOSUID | unix.MS_NODEV},
		{"proc", "/proc", "", none},
		{"sysfs", "/sys", "", none},
	} {
		if err := mount(m.fs, m.dir, m.fs, m.flags, m.options); err != nil {
			return err
		}
	}
	if err := s.mountGroups(); err != nil {
		return err
	}
	if s.Again {
		if err := newBootID(); err != nil {
			return err
		}
	}
	if err := bind(s.State, StateDir); err != nil {
		return err
	}
	if s.Prefix == "" {
		return nil
	}
	return bind(s.Prefix, Prefix)
}

// mountGroups mounts the control group hierarchies at the host's paths.
func (s machineSetup) mountGroups() error {
	const top = "/sys/fs/cgroup"
	for i, g := range s.Groups {
		if i == 0 && g.Path != top { // several hierarchies: their directories are in a tmpfs
			if err := mount("tmpfs", top, "tmpfs", 0, "mode=0755"); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(g.Path, 0o755); err != nil {
			return err
		}
		fs := "cgroup"
		if g.V2 {
			fs = "cgroup2"
		}
		if err := mount(fs, g.Path, fs, 0, g.Data); err != nil {
			return err
		}
	}
	return nil
}

// writeEtc writes the machine's host name, hosts and two ordinary users.
func (s machineSetup) writeEtc() error {
	users, groups := "", ""
	for _, u := range []User{Alice, Bob} {
		users += fmt.Sprintf("%s:x:%d:%d::/tmp:/bin/sh\n", u.Name, u.UID, u.GID)
		groups += fmt.Sprintf("%s:x:%d:\n", u.Name, u.GID)
	}
	for _, f := range []struct{ file, text string }{
		{"/etc/passwd", users}, {"/etc/group", groups}, {"/etc/hosts", s.Hosts},
	} {
		if err := appendFile(f.file, f.text); err != nil {
			return err
		}
	}
	return os.WriteFile("/etc/hostname", []byte(s.Name+"\n"), 0o644)
}

func appendFile(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func bind(source, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return mount(source, dir, "", unix.MS_BIND, "")
}

func mount(source, dir, fs string, flags uintptr, options string) error {
	if err := unix.Mount(source, dir, fs, flags, options); err != nil {
		return fmt.Errorf("mount %s on %s: %w", source, dir, err)
	}
	return nil
}
