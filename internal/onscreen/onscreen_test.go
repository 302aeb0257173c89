package onscreen_test

import (
	"testing"

	"bproc/internal/onscreen"
)

func TestText(t *testing.T) {
	const from = "a\x1b[2J\tb\u009b2Jc\u202ed\xffé\r\nnext"
	if got, want := onscreen.Line(from), "a�[2J�b�2Jc�d�é��next"; got != want {
		t.Errorf("a line: got %q, want %q", got, want)
	}
	if got, want := onscreen.Text(from), "a�[2J�b�2Jc�d�é�\nnext"; got != want {
		t.Errorf("a text: got %q, want %q", got, want)
	}
}
