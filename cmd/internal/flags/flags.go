package flags

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// Explain returns the error of a command line's options for the one who has typed it.
// Errors that are not pflag's are left as they are.
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

// dashed returns an option as it is typed. Of letters, only the first is meant.
func dashed(name string, letter bool) string {
	if letter {
		return "-" + name[:1]
	}
	return "--" + name
}

// names returns the ways to type an option.
func names(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return "-" + f.Shorthand + ", --" + f.Name
}

// wrong says what is wrong with an option's value. Types of our own say it themselves.
func wrong(e *pflag.InvalidValueError) string {
	wanted := ""
	switch f := e.GetFlag(); f.Value.Type() {
	case "int":
		wanted = "a whole number in its range"
	case "bool":
		wanted = "true or false"
	case "duration":
		wanted = "a time with its unit, such as 90s or 5m"
	case "": // pflag does not name the type of a TextVar; ours are all levels of a log
		wanted = "one of debug, info, warn and error"
	default:
		return errors.Unwrap(e).Error()
	}
	return fmt.Sprintf("%q is not %s", e.GetValue(), wanted)
}
