package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
)

// traces is by what a cluster that has ended would be recognised: its
// namespaces, and the FUSE connections of its mounts.
type traces struct {
	namespaces map[string]string // link of /proc/PID/ns/KIND: name of the machine
	fuse       map[string]string // directory of fusectl: name of the machine
}

// note writes down the traces of a machine that still runs.
func (t *traces) note(m *Machine) {
	r, err := m.current()
	if err != nil {
		return // it is off
	}
	if t.namespaces == nil {
		t.namespaces, t.fuse = map[string]string{}, map[string]string{}
	}
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/ns/*", r.pid))
	for _, link := range links {
		host, err := os.Readlink("/proc/self/ns/" + filepath.Base(link))
		if err != nil {
			continue
		}
		if ns, err := os.Readlink(link); err == nil && ns != host {
			t.namespaces[ns] = m.Name
		}
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/mountinfo", r.pid))
	if err != nil {
		return
	}
	defer f.Close()
	mounts, _ := mountinfo.GetMountsFromReader(f, notFUSE)
	for _, mnt := range mounts {
		// fusectl names a connection by the minor device number (fuse.rst).
		t.fuse[fmt.Sprintf("/sys/fs/fuse/connections/%d", mnt.Minor)] = m.Name
	}
}

// check reports what is still there, and gives the kernel time to clean up.
func (t *traces) check(timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for {
		err := t.left()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// left lists processes in the cluster's namespaces, mounts of them that the
// host can see, and its FUSE connections.
func (t *traces) left() error {
	var errs []error
	links, err := filepath.Glob("/proc/[0-9]*/ns/*")
	if err != nil {
		return err
	}
	for _, link := range links {
		ns, err := os.Readlink(link)
		if err != nil {
			continue // ended meanwhile
		}
		if machine, ok := t.namespaces[ns]; ok {
			errs = append(errs, fmt.Errorf("left behind: process %s in %s of %s", strings.Split(link, "/")[2], ns, machine))
		}
	}
	for dir, machine := range t.fuse {
		if _, err := os.Stat(dir); err == nil {
			errs = append(errs, fmt.Errorf("left behind: FUSE connection %s of %s", dir, machine))
		}
	}
	return errors.Join(errs...)
}

// leftovers reports what this process has left on the host: mounts, control
// groups and files under the site's name, and bproc's names in general.
func (s *site) leftovers() error {
	var errs []error
	mounts, err := mountinfo.GetMounts(func(i *mountinfo.Info) (skip, stop bool) {
		return !strings.Contains(i.Mountpoint, s.id) && !strings.Contains(i.Root, s.id), false
	})
	if err != nil {
		return err
	}
	for _, m := range mounts {
		errs = append(errs, fmt.Errorf("left behind: mount %s", m.Mountpoint))
	}
	for _, path := range append(s.groupDirs(""), s.dir) {
		if _, err := os.Stat(path); err == nil {
			errs = append(errs, fmt.Errorf("left behind: %s", path))
		}
	}
	return errors.Join(errs...)
}
