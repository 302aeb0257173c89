package cluster

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// enterSource is the program by which commands enter the cgroup namespace of a machine.
//
// If the hierarchy is mounted with nsdelegate, as by systemd, a process in that namespace that is
// not below its root can neither move nor clone into it (cgroups(7)). The thread that starts
// commands cannot be below it: all threads of a process are in one group of version 2. So a command
// is first cloned into the group, and then enters the namespace. It changes its user after that,
// because only root may enter.
//
//	thread of the machine             the command's process
//	clone3(CLONE_INTO_CGROUP) --->      enter: setns, setuid
//	       <--- report, or end of file  execve: the command
//
//go:embed enter/enter.c
var enterSource []byte

// enterProgram compiles it, once.
var enterProgram = sync.OnceValues(func() (string, error) {
	s, err := theSite()
	if err != nil {
		return "", err
	}
	source := filepath.Join(s.dir, "enter.c")
	if err := os.WriteFile(source, enterSource, 0o644); err != nil {
		return "", err
	}
	// Linked statically: commands are started often, and their environments may have variables for
	// the dynamic linker.
	return Compile(source, "-static")
})

// firstExtra is the descriptor of the first of exec.Cmd's ExtraFiles.
const firstExtra = 3

// enter makes the command's process, in the namespaces of the calling thread. The process reports
// to the pipe.
func (c *Cmd) enter(report *os.File) error {
	path, err := lookPath(c.Args[0])
	if err != nil {
		return err
	}
	if c.run.leaf != nil {
		c.SysProcAttr.UseCgroupFD = true
		c.SysProcAttr.CgroupFD = int(c.run.leaf.Fd())
	}
	var ids syscall.Credential
	user := c.SysProcAttr.Credential
	if user != nil {
		ids = *user
	}
	args, files := c.Args, c.ExtraFiles
	namespace := firstExtra + len(files)
	c.Path, c.Args = c.run.entry, []string{filepath.Base(c.run.entry)}
	for _, n := range []int{namespace, namespace + 1, int(ids.Uid), int(ids.Gid)} {
		c.Args = append(c.Args, strconv.Itoa(n))
	}
	c.Args = slices.Concat(c.Args, []string{path}, args)
	c.ExtraFiles = slices.Concat(files, []*os.File{c.run.view, report})
	c.SysProcAttr.Credential = nil
	err = c.Cmd.Start()
	c.Path, c.Args, c.ExtraFiles, c.SysProcAttr.Credential = path, args, files, user
	return err
}

// entered reads the report of a command's process. It returns nil when the command is executed, and
// also if the process was killed.
func entered(report io.Reader) error {
	b, err := io.ReadAll(report)
	if err != nil || len(b) == 0 {
		return err
	}
	var errno unix.Errno
	number, step, _ := strings.Cut(string(b), " ")
	if _, err := fmt.Sscan(number, &errno); err != nil {
		return fmt.Errorf("report %q: %w", b, err)
	}
	return fmt.Errorf("%s: %w", step, errno)
}
