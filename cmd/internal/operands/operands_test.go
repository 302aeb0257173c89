package operands_test

import (
	"testing"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
)

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestNamed(t *testing.T) {
	for _, test := range []struct {
		check cobra.PositionalArgs
		args  []string
		want  string
	}{
		{operands.None, nil, ""},
		{operands.None, []string{"x"}, `operand "x" is one too many`},
		{operands.Named("source", "mount point"), []string{"a", "b"}, ""},
		{operands.Named("source", "mount point"), nil, "no source given"},
		{operands.Named("source", "mount point"), []string{"a"}, "no mount point given"},
		{operands.Named("source", "mount point"), []string{"a", "b", "c", "d"}, `operand "c" is one too many`},
	} {
		if got := text(test.check(nil, test.args)); got != test.want {
			t.Errorf("%q: got %q, want %q", test.args, got, test.want)
		}
	}
}

func TestExclusive(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"-l"}, ""},
		{[]string{"-l", "-x"}, ""},
		{[]string{"-l", "-c"}, "-c and -l exclude each other"},
	} {
		c := new(cobra.Command)
		f := c.Flags()
		f.BoolP("compact", "c", false, "")
		f.BoolP("long", "l", false, "")
		f.BoolP("other", "x", false, "")
		if err := f.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		if got := text(operands.Exclusive(c, "compact", "long")); got != test.want {
			t.Errorf("%q: got %q, want %q", test.args, got, test.want)
		}
	}
}
