package manpage

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	// helpOption matches an option in the help of cobra: " -n, --no-input text".
	helpOption = regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([\w-]+)`)
	// pageOption matches an option in a list of mdoc(7): ".It Fl n , Fl -no-input Ar file".
	pageOption = regexp.MustCompile(`(?m)^\.It (?:Fl (\w) , )?Fl -([\w-]+)`)
)

// CheckOptions reports options that are in a manual page (mdoc) but not in the help of its
// commands, or the reverse.
func CheckOptions(t *testing.T, page string, helps ...string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	documented := options(pageOption, string(text))
	offered := options(helpOption, strings.Join(helps, "\n"))
	if len(offered) == 0 {
		t.Fatal("the help names no options")
	}
	if !slices.Equal(documented, offered) {
		t.Errorf("%s has the options\n%s\nand the help\n%s", page, strings.Join(documented, " "), strings.Join(offered, " "))
	}
}

// CheckCommand is [CheckOptions] with the help of a command without subcommands.
func CheckCommand(t *testing.T, page string, c *cobra.Command) {
	t.Helper()
	c.InitDefaultHelpFlag()
	CheckOptions(t, page, c.UsageString())
}

func options(pattern *regexp.Regexp, text string) []string {
	var list []string
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		list = append(list, "-"+m[1]+"/--"+m[2])
	}
	slices.Sort(list)
	return slices.Compact(list)
}
