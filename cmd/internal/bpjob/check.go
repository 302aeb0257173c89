package bpjob

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"bproc/internal/job/file"
	"bproc/internal/job/place"
)

// checked is the result for one file. The JSON is described in bpjob(1).
type checked struct {
	File      string         `json:"file"`
	OK        bool           `json:"ok"`
	Processes []string       `json:"processes"`
	Problems  []file.Problem `json:"problems"`
	Error     string         `json:"error,omitempty"` // why it could not be read
}

func (c *Command) checkCommand() *cobra.Command {
	var asJSON bool
	var o file.Options
	cmd := &cobra.Command{
		Use:                   "check [--json] [--job name] file|job ...",
		Short:                 "Say everything that is wrong with job files",
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no file given")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if o.Root, err = place.Root(); err != nil {
				return err
			}
			return c.check(args, o, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&o.Job, "job", "", "the `name` of the job: its own directories are no volumes")
	return cmd
}

// check checks all files, whatever is wrong with the first ones.
func (c *Command) check(names []string, o file.Options, asJSON bool) error {
	all := make([]checked, 0, len(names))
	var failed error
	for _, name := range names {
		found := c.look(name, o)
		if !found.OK {
			failed = errReported
		}
		all = append(all, found)
	}
	if asJSON {
		e := json.NewEncoder(c.Stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return errors.Join(e.Encode(all), failed)
	}
	for _, found := range all {
		if found.Error != "" {
			fmt.Fprintf(c.Stderr, "bpjob: %s\n", found.Error)
		}
		for _, p := range found.Problems {
			fmt.Fprintf(c.Stderr, "%s:%v\n", found.File, p)
		}
	}
	return failed
}

func (c *Command) look(name string, o file.Options) checked {
	name = jobFile(name, &o)
	found := checked{File: name, Processes: []string{}, Problems: []file.Problem{}}
	text, err := c.read(name)
	if err != nil {
		found.Error = err.Error()
		return found
	}
	job, err := file.Read(name, text, o)
	var wrong *file.Error
	if errors.As(err, &wrong) {
		found.Problems = wrong.Problems
		return found
	}
	found.OK = true
	for _, p := range job.Processes {
		found.Processes = append(found.Processes, p.Name)
	}
	return found
}

// read reads a file or standard input, up to one byte more than the allowed size.
func (c *Command) read(name string) ([]byte, error) {
	from := c.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, file.MaxSize+1))
	if err != nil && name == "-" {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return text, err
}

// jobFile returns name if such a file exists, and otherwise the file of the job with that name.
func jobFile(name string, o *file.Options) string {
	if _, err := os.Stat(name); err == nil {
		return name
	}
	p, err := at(selection{job: name})
	if err != nil {
		return name
	}
	if _, err := os.Stat(p.File()); err != nil {
		return name
	}
	if o.Job == "" {
		o.Job, o.Root = p.Name, p.Root
	}
	return p.File()
}
