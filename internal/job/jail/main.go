package jail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
)

// Exit codes of bpjail, like those of a shell.
const (
	codeFailed      = 125
	codeNotExecuted = 126
	codeNotFound    = 127
)

// Main runs bpjail with its arguments, which are those of the job's program. It returns only if the
// program is not executed. It must be called on the main thread, locked to it.
func Main(ctx context.Context, args []string) int {
	runtime.LockOSThread()
	s, err := spec.Decode(os.Getenv(spec.Environment))
	if err == nil {
		if err = do(ctx, s, args); err == nil {
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, err)
	switch {
	case errors.Is(err, errNotFound):
		return codeNotFound
	case errors.Is(err, errNotExecuted):
		return codeNotExecuted
	}
	return codeFailed
}

func do(ctx context.Context, s *spec.Spec, args []string) error {
	c := &command{args: args}
	switch s.Action {
	case spec.Run:
		return run(ctx, s, c)
	case spec.Files:
		return files(ctx, s, os.Stdout)
	case spec.Hook:
		return hook(ctx, s, c)
	case spec.Shell:
		return shell(s, c)
	case spec.Kill:
		return signal(s)
	case spec.Clear:
		return clear(s, os.Stdout)
	}
	return fmt.Errorf("there is no action %q; front end and node have different versions of bproc", s.Action)
}

// filesTimeout bounds the time for reading the files of the job.
const filesTimeout = 2 * time.Minute

// files makes the directory of the job's files, if needed, and prints the sums of the files. Before
// files are copied to it from another directory, it gives the directory to the user who copies them.
func files(ctx context.Context, s *spec.Spec, out io.Writer) error {
	sums, err := ownFiles(ctx, s)
	if err == nil && s.Ordinary && s.Source != "" && s.Source != s.Directory() {
		err = takeFiles(s)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(sums)
}

func ownFiles(ctx context.Context, s *spec.Spec) (map[string]string, error) {
	if err := makeJobDir(s); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, filesTimeout, fmt.Errorf("reading them takes more than %v", filesTimeout))
	defer cancel()
	sums, err := spec.OwnSums(ctx, s)
	if s.Ordinary && errors.Is(err, unix.EACCES) { // a former owner's, which a copy replaces
		return nil, nil
	}
	return sums, err
}

// fresh returns an error if files of the job are missing or differ.
func fresh(ctx context.Context, s *spec.Spec) error {
	if len(s.Sums) == 0 {
		return nil
	}
	sums, err := ownFiles(ctx, s)
	if err == nil && (!spec.HaveAll(sums, s.Sums) || !spec.HaveAll(sums, s.Attributes)) {
		err = errors.New(spec.Stale)
	}
	return err
}

// makeJobDir makes the directory for the files of the job. For the job of an ordinary user it
// belongs to the user, who copies the files.
func makeJobDir(s *spec.Spec) error {
	dir := s.JobDir()
	if err := makeDirs(filepath.Dir(dir)); err != nil {
		return err
	}
	err := unix.Mkdir(dir, 0o755)
	made := err == nil
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	if made {
		_ = unix.Lsetxattr(dir, copyMark, []byte{}, 0) // without it, the directory is not given to another owner of the job
	}
	if s.Ordinary && made {
		return unix.Lchown(dir, int(s.UID), int(s.GID))
	}
	return nil
}

// signal sends a signal to all processes of the group.
func signal(s *spec.Spec) error {
	g, err := findGroup(s)
	if err != nil {
		return err
	}
	if s.Signal == int(unix.SIGKILL) {
		if err := halt(g.tasks); err != nil {
			return err
		}
	}
	return kill(g.tasks, unix.Signal(s.Signal))
}

// hook executes a hook on the node, outside of the job's namespaces, as root or as the ordinary
// user who asked for it. It runs in the control group, which is killed as a whole.
func hook(ctx context.Context, s *spec.Spec, c *command) error {
	if err := fresh(ctx, s); err != nil {
		return err
	}
	c.misc = readMiscFormats()
	g, err := findGroup(s)
	if err == nil {
		err = g.enter(new(spec.Spec))
	}
	if err == nil {
		err = (&root{Spec: s}).directories()
	}
	if err == nil && s.Ordinary {
		err = become(s, nil)
	}
	if err != nil {
		return err
	}
	return execute(s, c)
}

// clear kills the rest of a process's group, and prints the result.
func clear(s *spec.Spec, out io.Writer) error {
	g, err := findGroup(s)
	if err != nil {
		return err
	}
	ended := spec.Ended{OOM: g.oomKills()}
	if err := g.remove(); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(ended)
}

// run isolates this process and executes the program.
func run(ctx context.Context, s *spec.Spec, c *command) error {
	if err := fresh(ctx, s); err != nil {
		return err
	}
	c.misc = readMiscFormats()
	g, err := findGroup(s)
	if err == nil {
		err = g.enter(s)
	}
	if err == nil && s.Processes > 0 {
		c.bound, err = g.bound()
	}
	if err == nil {
		err = isolate()
	}
	if err == nil {
		err = build(s)
	}
	if err != nil {
		return err
	}
	return settle(s, c)
}

// settle takes on the user and the limits of the job, and executes the program.
func settle(s *spec.Spec, c *command) error {
	err := limit(s)
	c.files = s.OpenFiles
	var keep []capability.Cap
	if err == nil {
		keep, err = wanted(s)
	}
	if err == nil {
		err = become(s, keep)
	}
	if err != nil {
		return err
	}
	if err := unix.Chdir(s.Workdir); err != nil {
		return fmt.Errorf("working directory %s of the job: %w", s.Workdir, err)
	}
	if err := confine(s, keep); err != nil {
		return err
	}
	return execute(s, c)
}
