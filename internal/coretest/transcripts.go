package coretest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// Transcripts replays the inputs of testdata/*.txt to a core and compares what comes out with
// what the file says.
//
// A line is an input, a comment, or (indented) something that the input before it brought out.
// begin begins with a core; what it returns gives that an input, by its verb and operands, and
// returns what came out, in lines.
func Transcripts(t *testing.T, begin func(t *testing.T) func(verb string, args []string) []string) {
	t.Helper()
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
			got := replay(string(want), begin(t))
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
func replay(text string, input func(verb string, args []string) []string) string {
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
		for _, l := range input(words[0], words[1:]) {
			out.WriteString("\t" + l + "\n")
		}
	}
	return out.String()
}
