package flags

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestExplain(t *testing.T) {
	for _, tc := range []struct{ arg, want string }{
		{"-q", "there is no option -q; --help lists those that there are"},
		{"-vq", "there is no option -q; --help lists those that there are"},
		{"--quick", "there is no option --quick; --help lists those that there are"},
		{"-n", "option -n needs a value"},
		{"-vn", "option -n needs a value"},
		{"--number", "option --number needs a value"},
		{"-nx", `option -n, --number: "x" is not a whole number in its range`},
		{"--number=99999999999999999999", `option -n, --number: "99999999999999999999" is not a whole number in its range`},
		{"--expire=1", `option --expire: "1" is not a time with its unit, such as 90s or 5m`},
		{"--verbose=maybe", `option -v, --verbose: "maybe" is not true or false`},
		{"--=x", `"--=x" is not an option`},
		{"--level=loud", `option --level: "loud" is not one of debug, info, warn and error`},
	} {
		f := pflag.NewFlagSet("test", pflag.ContinueOnError)
		f.IntP("number", "n", 0, "")
		f.BoolP("verbose", "v", false, "")
		f.Duration("expire", time.Second, "")
		f.TextVar(new(slog.Level), "level", slog.LevelInfo, "")
		err := f.Parse([]string{tc.arg})
		if err == nil {
			t.Errorf("%s is taken", tc.arg)
		} else if got := Explain(err).Error(); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.arg, got, tc.want)
		}
	}
	other := errors.New("other")
	if got := Explain(other); !errors.Is(got, other) {
		t.Errorf("got %v, want it as it is", got)
	}
}
