package flags

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// Explain rewrites an error of pflag for the user of a command line. It returns other errors
// unchanged.
func Explain(err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &unknown):
		name := dashed(unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames() != "")
		return fmt.Errorf("there is no option %s; --help lists those that there are", name)
	case errors.As(err, &bare):
		return fmt.Errorf("option %s needs a value", dashed(bare.GetSpecifiedName(), bare.GetSpecifiedShortnames() != ""))
	case errors.As(err, &invalid):
		return fmt.Errorf("option %s: %s", names(invalid.GetFlag()), wrong(invalid))
	case errors.As(err, &syntax):
		return fmt.Errorf("%q is not an option", syntax.GetSpecifiedFlag())
	default:
		return err
	}
}

// Given returns an error if an option was given with nothing as its value: in a script, that is a variable
// that is not set.
func Given(set *pflag.FlagSet) (err error) {
	set.Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && f.Value.String() == "" {
			err = fmt.Errorf("option %s: its value is empty", names(f))
		}
	})
	return err
}

// dashed returns an option as it is typed. Of several letters, the first is the wrong one.
func dashed(name string, letter bool) string {
	if letter {
		return "-" + name[:1]
	}
	return "--" + name
}

// names returns the spellings of an option.
func names(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return "-" + f.Shorthand + ", --" + f.Name
}

// wrong explains the error of an option's value. Our own types explain it themselves.
func wrong(e *pflag.InvalidValueError) string {
	wanted := ""
	switch f := e.GetFlag(); f.Value.Type() {
	case "int", "int32":
		wanted = "a whole number in its range"
	case "bool":
		wanted = "true or false"
	case "duration":
		wanted = "a time with its unit, such as 90s or 5m"
	case "": // pflag does not name the type of a TextVar; all of ours are log levels
		wanted = "one of debug, info, warn and error"
	default:
		return errors.Unwrap(e).Error()
	}
	return fmt.Sprintf("%q is not %s", e.GetValue(), wanted)
}
