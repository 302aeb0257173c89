package coretest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bproc/internal/recording"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// Transcripts replays the inputs of testdata/*.txt to a core and compares the outputs with the
// file.
//
// A line is an input, a comment, or (indented) an output of the input before it. begin makes a core
// and returns a function that gives the core an input, by its verb and operands, and returns the
// outputs as lines.
func Transcripts(t *testing.T, begin func(t *testing.T) func(verb string, args []string) []string) {
	t.Helper()
	Walk(t, "testdata/*.txt", func(t *testing.T) func(string) []string {
		input := begin(t)
		return func(line string) []string {
			words := strings.Fields(line)
			return input(words[0], words[1:])
		}
	})
}

// Recorded replays the recordings in testdata/recorded/*.txt, in the format of the simulated
// cluster (test/sim) and the daemons, and compares the outputs with the file.
func Recorded(t *testing.T, begin func() recording.Machine) {
	t.Helper()
	Walk(t, "testdata/recorded/*.txt", func(t *testing.T) func(string) []string {
		p := recording.NewPlayer(begin())
		return func(line string) []string {
			out, err := p.Play(line)
			if err != nil {
				t.Error(err)
			}
			return out
		}
	})
}

// Walk replays transcripts. begin starts one, and returns a function that gets each input line and
// returns its outputs.
func Walk(t *testing.T, pattern string, begin func(t *testing.T) func(line string) []string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
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

// replay returns a transcript with its current outputs.
func replay(text string, input func(line string) []string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		out.WriteString(line)
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for _, l := range input(line) {
			out.WriteString("\t" + l + "\n")
		}
	}
	return out.String()
}
