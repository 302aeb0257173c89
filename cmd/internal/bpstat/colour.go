package bpstat

import "fmt"

// Terminal colours (console_codes(4)).
const (
	green  = 32
	red    = 31
	yellow = 33
)

// state formats the state of a node with at least width characters, in colour if wanted.
func (s *Stat) state(o *options, state string, width int) string {
	text := fmt.Sprintf("%-*s", width, state)
	if !s.coloured(o) {
		return text
	}
	colour := yellow
	switch state {
	case "up":
		colour = green
	case "down", "error":
		colour = red
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colour, text)
}

// coloured reports whether states are coloured: on a terminal with colours, unless the user does
// not want them (https://no-color.org).
func (s *Stat) coloured(o *options) bool {
	if o.colour != "auto" {
		return o.colour == "always"
	}
	return s.Screen != nil && s.getenv("NO_COLOR") == "" && s.getenv("TERM") != "dumb"
}

func (s *Stat) getenv(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return s.Getenv(name)
}
