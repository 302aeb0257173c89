package file

import (
	"fmt"
	"path"

	"go.yaml.in/yaml/v3"

	"bproc/internal/job/spec"
)

// Options are facts about a job outside of its file.
type Options struct {
	Job  string // its name; if empty, checks that depend on it are skipped
	Root string // directory of data and store; empty: [spec.DefaultRoot]
}

// Read reads a job file. name is the file's name in errors. An error is an [*Error].
func Read(name string, text []byte, o Options) (*Job, error) {
	job := new(Job)
	r := reader{options: o, left: maxValues}
	if root, problem := parse(text); problem != nil {
		r.problems = append(r.problems, *problem)
	} else {
		r.read(root, job)
	}
	if len(r.problems) > 0 {
		return nil, &Error{Name: name, Problems: sorted(r.problems)}
	}
	return job, nil
}

// reader reads one file.
type reader struct {
	options  Options
	problems []Problem
	left     int // number of values that may still be read
}

func (r *reader) read(root *yaml.Node, job *Job) {
	object{keys: jobKeys(job)}.read(r, root, "")
	if r.left < 0 {
		return // the job is incomplete
	}
	if r.options.Job == path.Base(spec.Packages) {
		r.problem(root, "", "no job can be called %s: %s is for the packages of all jobs", r.options.Job, spec.Packages)
	}
	seen := map[string]int{}
	for i, p := range job.Processes {
		if first := seen[p.Name]; first > 0 {
			at := &yaml.Node{Line: p.line, Column: 1}
			r.problem(at, fmt.Sprintf("processes[%d].name", i), "another process is called %s, in line %d", quote(p.Name), first)
		} else if p.Name != "" {
			seen[p.Name] = p.line
		}
	}
}

// problem records a problem at a place of the file.
func (r *reader) problem(n *yaml.Node, at, format string, args ...any) {
	r.problems = append(r.problems, Problem{Line: n.Line, Column: n.Column, Key: at, Text: fmt.Sprintf(format, args...)})
}

// spend counts a value, and reports whether it may be read. The first value over the limit is a
// problem; nothing is read after it.
func (r *reader) spend(n *yaml.Node, at string) bool {
	r.left--
	if r.left == -1 {
		r.problem(n, at, "the file has more than %d values, each alias counted as what it stands for; make it smaller", maxValues)
	}
	return r.left >= 0
}
