package procfs

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNobodyReadsHalfOfAChange has readers read byte by byte, and as a whole, while the length and
// content of the file change.
func TestNobodyReadsHalfOfAChange(t *testing.T) {
	m := mount(t)
	pid := ghosts(t, 1)[0]
	var versions [][]byte
	var told []Process
	for i := range 40 {
		p := remote(pid, "RSD"[i%3], 1<<(i%20))
		p.Status = bytes.Replace(p.Status, []byte("State:"), []byte("Fill:\t"+strings.Repeat("x", 97*(i%13))+"\nState:"), 1)
		told, versions = append(told, p), append(versions, p.Status)
	}
	m.show(told[0])
	done := make(chan struct{})
	var readers sync.WaitGroup
	for _, size := range []int{1, 64, 8192} {
		readers.Go(func() {
			for ended := false; !ended; {
				select {
				case <-done:
					ended = true // one last time
				default:
				}
				got, err := readIn(m.file(pid, "status"), size)
				if err != nil {
					t.Errorf("read: %v", err)
					return
				}
				known := false
				for _, v := range versions {
					known = known || bytes.Equal(got, v)
				}
				if !known {
					t.Errorf("read in pieces of %d bytes: %q, which is no version", size, got)
					return
				}
			}
		})
	}
	for range 20 {
		for _, p := range told {
			m.show(p)
		}
	}
	close(done)
	readers.Wait()
	if got := m.read(pid, "status"); got != string(versions[len(versions)-1]) {
		t.Errorf("at the end: got %q, want the last version", got)
	}
}

// readIn reads a file in pieces of a size. It does not open the file by package os, which checks at
// once whether the file can be polled (epoll_ctl(2)): the kernel asks the server, and Go's
// scheduler does not know that the call waits. If the garbage collector starts then, server and
// reader wait for each other.
func readIn(path string, size int) ([]byte, error) {
	fd, err := -1, error(unix.EINTR)
	for err == unix.EINTR { //nolint:errorlint // it is never wrapped
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var all []byte
	for b := make([]byte, size); ; {
		n, err := unix.Read(fd, b)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return all, err
		}
		all = append(all, b[:n]...)
	}
}

// TestKernelForgets checks that the view keeps no inodes that the kernel has forgotten.
func TestKernelForgets(t *testing.T) {
	m := mount(t)
	pid := ghosts(t, 1)[0]
	for i := range 50 {
		m.show(remote(pid, 'R', i))
		m.read(pid, "stat")
		m.read(pid, "status")
	}
	eventually(t, func() error { return atMost(m.view.table.size(), 25) })
}

// TestHangingNodes checks that a reader waits for a bounded time, and then sees the last known
// data.
func TestHangingNodes(t *testing.T) {
	m := mount(t)
	pid := ghosts(t, 1)[0]
	m.has(map[string]string{pid.String() + "/limits": "limits\n"})
	m.show(remote(pid, 'R', 1))
	release := make(chan struct{})
	m.mu.Lock()
	m.hang = release
	m.mu.Unlock()
	m.view.rounds.reset()
	if names, _ := m.names(); !contains(names, pid.String()) {
		t.Errorf("while nodes hang, %d is not listed", pid)
	}
	if got := m.read(pid, "comm"); got != "worker\n" {
		t.Errorf("while nodes hang: got %q", got)
	}
	if _, err := os.ReadFile(m.file(pid, "limits")); err == nil {
		t.Error("what only the node knows was read")
	}
	m.mu.Lock()
	m.hang = nil
	m.mu.Unlock()
	close(release)
	eventually(t, func() error {
		_, err := os.ReadFile(m.file(pid, "limits"))
		return err
	})
}
