package procfs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"bproc/test/limit"
	"bproc/wire"
)

// owner is the user of the processes that remote returns.
const owner = 1234

// showToAll shows a process in a view that all users can reach.
func (m *mounted) showToAll() (pid wire.PID, at string) {
	m.Helper()
	if err := os.Chmod(filepath.Dir(m.path), 0o755); err != nil {
		m.Fatal(err)
	}
	pid = ghosts(m.T, 1)[0]
	p := remote(pid, 'S', 1)
	p.Environ = nil // it is fetched, too
	m.show(p)
	return pid, pid.String() + "/"
}

// pause runs a shell command as a user. It returns after its first part; goOn runs the second, and
// returns all that it prints.
func (m *mounted) pause(uid uint32, first, second string) (goOn func() string) {
	m.Helper()
	cmd := exec.CommandContext(m.Context(), "sh", "-c", first+"; echo; read line; exec 2>&1; "+second)
	cmd.SysProcAttr = &unix.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	in, err := cmd.StdinPipe()
	if err != nil {
		m.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		m.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	if _, err := out.ReadString('\n'); err != nil {
		m.Fatal(err)
	}
	return func() string {
		if err := in.Close(); err != nil {
			m.Error(err)
		}
		text, err := io.ReadAll(out)
		if err != nil {
			m.Error(err)
		}
		_ = cmd.Wait() // what it prints tells more
		return string(text)
	}
}

// TestProcessThatBecomesRoots has the owner of a process open its files. Then the process executes
// a set-uid program, of which the view is not told yet, and root reads them.
func TestProcessThatBecomesRoots(t *testing.T) {
	m := mount(t)
	pid, at := m.showToAll()
	m.has(map[string]string{at + "maps": "old\n", at + "exe": "/old"})
	held := m.pause(owner, fmt.Sprintf("exec 3<%s 4<%s", m.file(pid, "fd"), m.file(pid, "maps")), "cat <&4; ls -l /proc/self/fd/3/")
	anew := m.pause(owner, ":", fmt.Sprintf("cd %s; cat maps environ; readlink exe; ls -l fd", m.file(pid)))

	m.has(map[string]string{at + "maps": "secret\n", at + "environ": "secret\n", at + "exe": "/secret"})
	m.lists(map[string][]Entry{at + "fd": {{"7", fs.ModeSymlink, "/secret"}}})
	m.hides(at+"maps", at+"environ", at+"exe", at+"fd")
	rootReads := func() {
		if got := m.read(pid, "maps") + m.read(pid, "environ"); got != "secret\nsecret\n" {
			t.Errorf("root reads %q", got)
		}
		if got, err := os.Readlink(m.file(pid, "fd", "7")); err != nil || got != "/secret" {
			t.Errorf("root reads %q, %v", got, err)
		}
	}
	rootReads()
	for what, goOn := range map[string]func() string{"what it has opened": held, "what it opens now": anew} {
		if got := goOn(); strings.Contains(got, "secret") {
			t.Errorf("%s: the owner reads %q", what, got)
		}
	}
	rootReads()
}

// TestStatFetchesNothing has users ask for the size of a file that they may not read.
func TestStatFetchesNothing(t *testing.T) {
	m := mount(t)
	pid, at := m.showToAll()
	m.has(map[string]string{at + "smaps": "secret\n"})
	if !as(1235, fmt.Sprintf("test $(stat -c %%s %s) = 0 && ! cat %[1]s", m.file(pid, "smaps"))) {
		t.Error("another user learns the size of smaps, or its content")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.fetched) != 0 {
		t.Errorf("for another user were fetched: %q", m.fetched)
	}
}

// TestSendfile copies a file that is fetched with sendfile(2), as some shells do. The kernel must
// know its size by then.
func TestSendfile(t *testing.T) {
	m := mount(t)
	pid, at := m.showToAll()
	m.has(map[string]string{at + "maps": "maps\n"})
	from, err := unix.Open(m.file(pid, "maps"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(from)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if n, err := unix.Sendfile(int(w.Fd()), from, nil, 4096); n != len("maps\n") || err != nil {
		t.Errorf("sendfile: %d, %v", n, err)
	}
}

// TestListOpenFiles lists the open files of a process, as lsof(8) does, and again when others are
// open. Each of its calls names the directory.
func TestListOpenFiles(t *testing.T) {
	m := mount(t)
	pid, at := m.showToAll()
	var open []Entry
	for i := range 100 {
		open = append(open, Entry{strconv.Itoa(i), fs.ModeSymlink, "/dev/null"})
	}
	m.lists(map[string][]Entry{at + "fd": open})
	begin := time.Now()
	out, err := exec.CommandContext(t.Context(), "ls", "-l", m.file(pid, "fd")).CombinedOutput()
	if err != nil || strings.Count(string(out), "/dev/null") != len(open) {
		t.Errorf("ls prints %q, %v", out, err)
	}
	m.mu.Lock()
	if most := 1 + int(time.Since(begin)/freshness); len(m.listed) > most {
		t.Errorf("the node has listed fd %d times, want at most %d", len(m.listed), most)
	}
	m.mu.Unlock()
	m.lists(map[string][]Entry{at + "fd": open[:1]})
	eventually(t, func() error {
		names, _ := m.names(pid, "fd")
		return atMost(len(names), 1)
	})
}

// asked is a place to fetch from that answers when the test ends.
type asked struct {
	origin

	came chan struct{} // closed when it is asked
}

func (a asked) read(ctx context.Context, _ string) ([]byte, error) {
	close(a.came)
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestLookupWaitsForNoNode asks for the attributes of a file, as each lookup of it does, while a
// reader waits for its node: the kernel keeps the directory locked until a lookup returns.
func TestLookupWaitsForNoNode(t *testing.T) {
	from := asked{came: make(chan struct{})}
	f := &fetchedFile{view: New(Config{}, &cluster{}, slog.New(slog.DiscardHandler)), from: from, path: "maps"}
	var reader sync.WaitGroup
	reader.Go(func() { f.load(t.Context()) })
	t.Cleanup(reader.Wait)
	<-from.came
	looked := make(chan time.Duration, 1)
	go func() {
		keep, _ := f.attr(new(fuse.Attr))
		looked <- keep
	}()
	select {
	case keep := <-looked:
		if keep != 0 {
			t.Errorf("the kernel caches for %v what is not known", keep)
		}
	case <-time.After(limit.Scaled(time.Minute)):
		t.Error("the lookup waits")
	}
}

// refuses is a directory to fetch that fails when the test says so.
type refuses struct {
	origin

	came chan struct{} // a value for each time that it is asked
	fail chan struct{} // closed: it fails
}

func (r refuses) list(context.Context, string) ([]Entry, error) {
	r.came <- struct{}{}
	<-r.fail
	return nil, unix.ETIMEDOUT
}

func (refuses) owner() folder { return folder{} }

// TestListFailsOnce has many readers of a directory wait for a node that does not answer. All get
// the error that the first one gets, and none waits again. The first lookup after that makes a reader
// ask the node again.
func TestListFailsOnce(t *testing.T) {
	const many = 10
	v := New(Config{}, &cluster{}, slog.New(slog.DiscardHandler))
	from := refuses{came: make(chan struct{}, many+1), fail: make(chan struct{})}
	look := func() *inode {
		return v.fetch(place{rootID, "fd"}, fuse.Owner{Uid: 1}, from, "fd", unix.S_IFDIR|0o500)
	}
	n := look()
	var readers sync.WaitGroup
	for range many {
		readers.Go(func() {
			if _, errno := n.file.(directory).list(t.Context(), 0); errno != unix.ETIMEDOUT {
				t.Errorf("got %v, want %v", errno, unix.ETIMEDOUT)
			}
		})
	}
	<-from.came
	if look() != n {
		t.Error("a lookup during the wait finds another inode, whose readers ask the node, too")
	}
	close(from.fail)
	readers.Wait()
	if again := len(from.came); again != 0 {
		t.Errorf("the node was asked %d times again", again)
	}
	next := look()
	if next == n {
		t.Fatal("a lookup after the failure finds the inode that failed")
	}
	if _, errno := next.file.(directory).list(t.Context(), 0); errno != unix.ETIMEDOUT || len(from.came) != 1 {
		t.Errorf("got %v, and the node was asked %d times, want once", errno, len(from.came))
	}
}
