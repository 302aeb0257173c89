package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// site is shared by all clusters of this process.
type site struct {
	id      string // unique on this host; the name of the directory and of the control groups
	dir     string // contains all files of the site
	groups  []hierarchy
	janitor *janitor

	mu   sync.Mutex
	next int // number of the next cluster
}

// theSite makes the site on the first call.
var theSite = sync.OnceValues(func() (*site, error) {
	s, err := newSite()
	if err == nil {
		made.Store(s)
	}
	return s, err
})

// made is the site, if there is one.
var made atomic.Pointer[site]

func newSite() (*site, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("a cluster needs root: namespaces, devices and control groups are made")
	}
	groups, err := hierarchies()
	if err != nil {
		return nil, err
	}
	base, err := baseDir()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(base, fmt.Sprintf("bproctest-%d-", os.Getpid()))
	if err != nil {
		return nil, err
	}
	s := &site{id: filepath.Base(dir), dir: dir, groups: groups}
	if s.janitor, err = startJanitor(s); err != nil {
		return nil, fmt.Errorf("start the janitor: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // ordinary users run commands in it
		return nil, err
	}
	return s, nil
}

// baseDir finds a directory whose file system honours file capabilities, which the ghost's image
// needs; /tmp is often mounted nosuid.
func baseDir() (string, error) {
	candidates := []string{"/var/tmp", os.TempDir(), "/srv"}
	for _, dir := range candidates {
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) == nil && fs.Flags&(unix.ST_NOSUID|unix.ST_NOEXEC|unix.ST_RDONLY) == 0 {
			return dir, nil
		}
	}
	return "", fmt.Errorf("none of %v is on a writable file system mounted without nosuid and noexec", candidates)
}

// nextCluster returns a name for a cluster.
func (s *site) nextCluster() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return fmt.Sprintf("c%d", s.next)
}
