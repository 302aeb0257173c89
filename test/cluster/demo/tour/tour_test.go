package tour_test

import (
	"errors"
	"os"
	"testing"

	"bproc/test/cluster/demo/tour"
)

// TestTake takes steps whose shell fails or whose output does not match. Both are errors, and the
// output is returned nevertheless.
func TestTake(t *testing.T) {
	failure := errors.New("exit status 1")
	for _, c := range []struct {
		name, prints string
		fails        error
		ok           bool
	}{
		{"as it says", "1: n1\n", nil, true},
		{"a message before", "bpsh: the ghost was not adopted: invalid argument\n1: n1\n", nil, false},
		{"nothing", "", nil, false},
		{"a failure", "1: n1\n", failure, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			step := tour.Step{Do: "a line", Shows: `^1: n1\n$`}
			shown, err := step.Take(func(line string, out *os.File) error {
				if line != step.Do {
					t.Errorf("the line is %q", line)
				}
				if _, err := out.WriteString(c.prints); err != nil {
					t.Fatal(err)
				}
				return c.fails
			})
			if shown != c.prints {
				t.Errorf("shown is %q, want %q", shown, c.prints)
			}
			if (err == nil) != c.ok || c.fails != nil && !errors.Is(err, c.fails) {
				t.Errorf("got error %v", err)
			}
		})
	}
}

// TestSteps replaces the output of each step of the tour by an error message, which must not match.
func TestSteps(t *testing.T) {
	for _, step := range tour.Steps {
		_, err := step.Take(func(_ string, out *os.File) error {
			_, err := out.WriteString("bpsh: node 1: the ghost was not adopted: invalid argument\n")
			return err
		})
		if err == nil {
			t.Errorf("%s: no error", step.Do)
		}
	}
}
