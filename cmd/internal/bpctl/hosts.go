package bpctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bproc/cmd/internal/operands"
	"bproc/internal/hosts"
)

// hostsAgain is after what time a master that does not answer is asked again.
const hostsAgain = 2 * time.Second

// hostsOptions say what is done with the names of the cluster.
type hostsOptions struct {
	file   string // to be written; empty: they are printed
	follow bool
	remove bool
}

// hostsCommand shows what the names of the cluster mean, in the form of hosts(5).
func (c *Control) hostsCommand() *cobra.Command {
	var o hostsOptions
	cmd := &cobra.Command{
		Use:                   "hosts [--write file [--follow | --remove]]",
		Short:                 "Print the addresses of the names n0, .0, master and self, or keep them in a file",
		DisableFlagsInUseLine: true,
		Args:                  operands.None,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return c.hosts(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.file, "write", "w", "", "put them into this `file`, such as /etc/hosts, behind what it has")
	f.BoolVarP(&o.follow, "follow", "f", false, "and whenever they change, until interrupted")
	f.BoolVar(&o.remove, "remove", false, "take them away from the file")
	f.BoolP("help", "h", false, "print this help")
	return cmd
}

func (c *Control) hosts(ctx context.Context, o hostsOptions) error {
	switch {
	case o.file == "" && (o.follow || o.remove):
		return errors.New("--follow and --remove need --write")
	case o.follow && o.remove:
		return errors.New("only one of --follow and --remove can be given")
	case o.remove:
		return rewrite(o.file, nil)
	case o.follow:
		return c.followHosts(ctx, o.file)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	former, err := readTable(o.file)
	if err != nil {
		return err
	}
	table, _, err := c.Client.Hosts(ctx, 0, former)
	switch {
	case err != nil:
		return err
	case o.file != "":
		return rewrite(o.file, table)
	}
	_, err = c.Stdout.Write(table.Lines(nil))
	return err
}

// followHosts keeps a file up to date. Without a master it stays as it is.
func (c *Control) followHosts(ctx context.Context, file string) error {
	var digest uint64
	for said := ""; ; {
		former, err := readTable(file)
		if err != nil {
			return err
		}
		table, next, err := c.Client.Hosts(ctx, digest, former)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if text := err.Error(); text != said {
				fmt.Fprintf(c.Stderr, "bpctl: %s\n", text)
				said = text
			}
			select {
			case <-time.After(hostsAgain):
			case <-ctx.Done():
				return nil
			}
			continue
		}
		if err := rewrite(file, table); err != nil {
			return err
		}
		digest, said = next, ""
	}
}

// readTable returns what a file says that the names mean; nil: nothing.
func readTable(file string) (*hosts.Table, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return hosts.Read(text), nil
}

// rewrite gives a file the lines of a table, or takes them away (nil). Another file takes its place,
// so that everybody reads what was there before or what is there now. Where something is mounted on it, as
// container engines do, it is written itself.
func rewrite(file string, table *hosts.Table) error {
	if path, err := filepath.EvalSymlinks(file); err == nil {
		file = path
	}
	was, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := hosts.Join(was, table)
	if bytes.Equal(text, was) {
		return nil
	}
	err = replace(file, text)
	if errors.Is(err, unix.EBUSY) {
		err = os.WriteFile(file, text, 0o644)
	}
	if at := (*fs.PathError)(nil); errors.As(err, &at) { // of a name that nobody knows
		err = at.Err
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// replace puts another file in the place of one, with its mode and owner.
func replace(file string, text []byte) (err error) {
	next, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".")
	if err != nil {
		return err
	}
	defer func() {
		next.Close()
		if err != nil {
			_ = os.Remove(next.Name()) // nothing more can be done about it
		}
	}()
	var st unix.Stat_t
	mode := os.FileMode(0o644)
	if err := unix.Stat(file, &st); err == nil {
		mode = os.FileMode(st.Mode & 0o777)
		if err := next.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if err := next.Chmod(mode); err != nil {
		return err
	}
	if _, err := next.Write(text); err != nil {
		return err
	}
	if err := next.Sync(); err != nil {
		return err
	}
	return os.Rename(next.Name(), file)
}
