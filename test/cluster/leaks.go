package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// traces identifies a cluster that has ended: its namespaces, and the FUSE connections of its
// mounts. Other clusters come and go meanwhile, and the kernel gives them the same numbers.
type traces struct {
	namespaces map[string]string    // link of /proc/PID/ns/KIND: name of the machine
	held       []*os.File           // open namespaces, so that no others get their numbers
	dirs       map[string]string    // of machines, by the links of their mount namespaces, which are not held open
	fuse       map[string]fuseTrace // by the directory of fusectl
}

type fuseTrace struct {
	machine string
	inode   uint64 // of the directory; another connection has another one
}

// note records the traces of a running machine.
func (t *traces) note(m *Machine) {
	r, err := m.current()
	if err != nil {
		return // it is off
	}
	if t.namespaces == nil {
		t.namespaces, t.dirs, t.fuse = map[string]string{}, map[string]string{}, map[string]fuseTrace{}
	}
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/ns/*", r.pid))
	for _, link := range links {
		host, err := os.Readlink("/proc/self/ns/" + filepath.Base(link))
		if err != nil {
			continue
		}
		ns, err := os.Readlink(link)
		if err != nil || ns == host {
			continue
		}
		t.namespaces[ns] = m.Name
		if filepath.Base(link) == "mnt" { // holding it would hold its mounts
			t.dirs[ns] = m.dir
		} else if f, err := os.Open(link); err == nil {
			t.held = append(t.held, f)
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
		dir := fmt.Sprintf("/sys/fs/fuse/connections/%d", mnt.Minor)
		if inode := inodeOf(dir); inode != 0 {
			t.fuse[dir] = fuseTrace{m.Name, inode}
		}
	}
}

// check reports what is left, and gives the kernel time to clean up.
func (t *traces) check(timeout time.Duration) error {
	defer t.release()
	deadline := time.Now().Add(timeout)
	for {
		err := t.left()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (t *traces) release() {
	for _, f := range t.held {
		f.Close()
	}
	t.held = nil
}

// inodeOf returns a file's inode number; 0: the file does not exist.
func inodeOf(path string) uint64 {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

// left lists processes in the cluster's namespaces, its mounts that the host can see, and its FUSE
// connections.
func (t *traces) left() error {
	var errs []error
	links, err := filepath.Glob("/proc/[0-9]*/ns/*")
	if err != nil {
		return err
	}
	for _, link := range links {
		ns, err := os.Readlink(link)
		if err != nil {
			continue // it has ended
		}
		if machine, ok := t.namespaces[ns]; ok && t.isOurs(link, ns) {
			errs = append(errs, fmt.Errorf("left behind: process %s in %s of %s", strings.Split(link, "/")[2], ns, machine))
		}
	}
	for dir, trace := range t.fuse {
		if inodeOf(dir) == trace.inode {
			errs = append(errs, fmt.Errorf("left behind: FUSE connection %s of %s", dir, trace.machine))
		}
	}
	return errors.Join(errs...)
}

// isOurs reports whether a namespace of a process is the recorded one: a mount namespace is if it
// has the directory of the machine.
func (t *traces) isOurs(link, ns string) bool {
	dir := t.dirs[ns]
	if dir == "" {
		return true
	}
	mounts, err := os.ReadFile(filepath.Dir(filepath.Dir(link)) + "/mountinfo")
	return err == nil && bytes.Contains(mounts, []byte(dir))
}

// leftovers reports what this process has left on the host: mounts, control groups and files with
// the site's name, and files with bproc's names in general.
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
