package bpcheck

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"bproc/internal/check"
	"bproc/internal/onscreen"
)

// report holds the results of the checks of a machine. Its JSON is described in bpctl(8).
type report struct {
	Release string         `json:"release"`
	Sides   []check.Side   `json:"sides"`
	Checks  []check.Result `json:"checks"`
}

func (r *report) json(w io.Writer) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(r) // Output keeps the error of a write
}

// colours are SGR parameters of ECMA-48.
var colours = map[check.Status]string{check.OK: "32", check.Warn: "33", check.Fail: "31", check.Skip: "2"}

// text prints a line for each check, its remedy below the line, and a summary.
func (r *report) text(w io.Writer, coloured bool) {
	for _, side := range r.Sides {
		fmt.Fprintf(w, "%s:\n", side)
		count := map[check.Status]int{}
		for _, c := range r.Checks {
			if c.Side != side {
				continue
			}
			count[c.Status]++
			status := fmt.Sprintf("%-4s", c.Status)
			if coloured {
				status = "\x1b[" + colours[c.Status] + "m" + status + "\x1b[0m"
			}
			fmt.Fprintf(w, "  %s  %-18s  %s\n", status, c.Name, lines(c.Found))
			if c.Remedy != "" {
				fmt.Fprintf(w, "        -> %s\n", lines(c.Remedy))
			}
		}
		fmt.Fprintf(w, "  %s\n", summary(count))
	}
}

// lines makes a text harmless to a terminal: it may come from any host that answers as the master.
// Lines after the first are indented.
func lines(s string) string {
	return strings.ReplaceAll(onscreen.Text(s), "\n", "\n"+strings.Repeat(" ", 28))
}

func summary(count map[check.Status]int) string {
	s := fmt.Sprintf("%d ok, %s, %s", count[check.OK], plural(count[check.Warn], "warning"), plural(count[check.Fail], "failure"))
	if n := count[check.Skip]; n > 0 {
		s += fmt.Sprintf(", %d not looked at", n)
	}
	return s
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
