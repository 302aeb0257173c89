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
	"bproc/internal/onscreen"
)

// hostsAgain is the delay before another request to a master that does not answer.
const hostsAgain = 2 * time.Second

// hostsOptions say where the names of the cluster go.
type hostsOptions struct {
	file   string // to write; if empty, print the names
	follow bool
	remove bool
}

// hostsCommand prints the addresses of the cluster's names in the form of hosts(5).
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

// followHosts keeps a file up to date. Without a master the file stays as it is.
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
				fmt.Fprintf(c.Stderr, "bpctl: %s\n", onscreen.Line(text))
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

// readTable returns the addresses that a file has for the names, or nil.
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

// rewrite puts the lines of a table into a file, or removes them (nil). A new file replaces the old
// one by rename(2), so that readers see either the old or the new contents. A file that is a mount
// point, as container engines make it, is written in place.
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
	// The error may name the temporary file, which means nothing to the user.
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = at.Err
	}
	if at := (*os.LinkError)(nil); errors.As(err, &at) {
		err = at.Err
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// replace replaces a file by a new one with the same mode and owner.
func replace(file string, text []byte) (err error) {
	next, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".")
	if err != nil {
		return err
	}
	defer func() {
		next.Close()
		if err != nil {
			_ = os.Remove(next.Name()) // nothing more can be done about an error
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
