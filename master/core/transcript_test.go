package core

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// TestTranscripts replays the inputs of testdata/*.txt to a core and compares
// what comes out with what the file says.
//
// A line is an input, a comment, or (indented) something that the input before
// it brought out: messages to the keeper, to the clients (by the number of their
// ghost) and to slaves (by the name of their session), a barrier that has moved,
// a link that is closed, and what is logged as a warning or an error. What the
// inputs are, script_test.go says.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// replay returns a transcript with what comes out now.
func replay(t *testing.T, text string) string {
	s := newScript(t)
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		out.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		for _, l := range s.input(words[0], words[1:]) {
			out.WriteString("\t" + l + "\n")
		}
	}
	return out.String()
}
