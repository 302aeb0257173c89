package procfs

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// remoteLink is a symbolic link of a process elsewhere.
//
// In procfs cwd, exe, root and fd/N lead to the object that a process has open, whatever their text
// is (proc_pid_fd(5)). Here they could only lead to the file of the same name on this machine:
// another file, and one that the process or its node has chosen. If root wrote to /proc/PID/fd/1,
// it would write to that file. So such a link has a text for readlink(2), and stat(2) shows the
// file of that name here, as lsof(8) wants it; any other call that follows it gets ELOOP, as with
// O_NOFOLLOW.
//
// The kernel makes the same request for all these calls, and the caller waits meanwhile;
// /proc/TID/syscall (proc_pid_syscall(5)) shows its call. The kernel caches the text of a link with
// its inode, so each lookup of a remote link returns a new inode.
type remoteLink interface {
	symlink
	leadsNowhere()
}

func (*fetchedLink) leadsNowhere() {}

// listedLink is a remote link whose text came with a listing.
type listedLink struct{ *pointer }

func (listedLink) leadsNowhere() {}

// mayHaveText reports whether a thread that waits for the text of a remote link has made one of the
// harmless calls. That is not known of a thread of another PID namespace, 0, so it gets no text. A
// view of an ordinary user may not see the calls (ptrace(2)); it serves that user alone, and gives
// the text.
func (v *View) mayHaveText(tid uint32) bool {
	if tid == 0 {
		return false
	}
	path := strconv.FormatUint(uint64(tid), 10) + "/syscall"
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Microsecond) {
		text, err := v.own.read(path)
		if err != nil {
			return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
		}
		number, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte{' '})
		if call, err := strconv.Atoi(string(number)); err == nil { // else it is running, and will soon sleep
			return slices.Contains(harmless, call)
		}
	}
	return false
}
