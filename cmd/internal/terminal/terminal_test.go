package terminal_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"bproc/cmd/internal/terminal"
)

// TestEscapes types whole lines at once, and key by key.
func TestEscapes(t *testing.T) {
	tests := []struct {
		keys string
		want string // with the actions in brackets
	}{
		{"ls -l ~/x\r", "ls -l ~/x\r"},
		{"~.", "[1]"},
		{"ls\r~.rest", "ls\r[1]rest"},
		{"ls~.\r", "ls~.\r"},
		{"~~x~.\n~\x1aback", "~x~.\n[2]back"},
		{"~?~?", "[3][3]"},
		{"~x", "~x"},
		{"~\r~.", "~\r[1]"},
	}
	for _, tt := range tests {
		for _, size := range []int{1, len(tt.keys)} {
			e := terminal.Escapes{Char: '~'}
			got := ""
			for keys := []byte(tt.keys); len(keys) > 0; {
				send, taken, do := e.Next(keys[:min(size, len(keys))], nil)
				got += string(send)
				if do != terminal.None {
					got += "[" + string('0'+rune(do)) + "]"
				}
				keys = keys[taken:]
			}
			if got != tt.want {
				t.Errorf("%q, %d at a time: got %q, want %q", tt.keys, size, got, tt.want)
			}
		}
	}
	e := terminal.Escapes{Char: terminal.NoEscape}
	if send, _, do := e.Next([]byte("~."), nil); string(send) != "~." || do != terminal.None {
		t.Errorf("without an escape character: %q, %d", send, do)
	}
}

func TestWithEnd(t *testing.T) {
	for input, want := range map[string]string{"": "\x04", "ls\n": "ls\n\x04", "ls": "ls\x04\x04"} {
		for _, r := range []io.Reader{strings.NewReader(input), iotest.DataErrReader(strings.NewReader(input)), iotest.OneByteReader(strings.NewReader(input))} {
			if got, err := io.ReadAll(terminal.WithEnd(r)); string(got) != want || err != nil {
				t.Errorf("%q: got %q, %v, want %q", input, got, err, want)
			}
		}
	}
}
