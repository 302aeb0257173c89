package check

import (
	"context"
	"fmt"
)

// Side is the role of a machine in a cluster.
type Side string

// The sides.
const (
	FrontEnd Side = "front end"
	Node     Side = "node"
)

// Status is the status of a result.
type Status string

// The statuses.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
	Skip Status = "skip"
)

// Result is the result of one check.
type Result struct {
	Side   Side   `json:"side"`
	Name   string `json:"name"`
	Status Status `json:"status"`
	Found  string `json:"found"`            // what the machine has or lacks
	Remedy string `json:"remedy,omitempty"` // what to do if the status is Warn or Fail
}

func ok(format string, args ...any) Result {
	return Result{Status: OK, Found: fmt.Sprintf(format, args...)}
}

// warn returns the result for a lack that bproc can do without.
func warn(found, remedy string) Result { return Result{Status: Warn, Found: found, Remedy: remedy} }

// fail returns the result for a lack that keeps bproc from working.
func fail(found, remedy string) Result { return Result{Status: Fail, Found: found, Remedy: remedy} }

// failed is fail for an error.
func failed(err error, remedy string) Result { return fail(err.Error(), remedy) }

// skip returns the result of a check that could not be made.
func skip(format string, args ...any) Result {
	return Result{Status: Skip, Found: fmt.Sprintf(format, args...)}
}

// needsRoot returns the result of a check that only root can make.
func needsRoot(what string) Result { return skip("%s: only root can look", what) }

// Run makes the checks of a side, in the order of the table.
func (m *Machine) Run(ctx context.Context, side Side) []Result {
	var results []Result
	for _, c := range table {
		if c.of != "" && c.of != side {
			continue
		}
		r := c.look(ctx, m.of(side))
		r.Side, r.Name = side, c.name
		results = append(results, r)
	}
	return results
}
