package file_test

import (
	"errors"
	"testing"

	"bproc/internal/job/file"
)

// FuzzRead checks that every file is read, or rejected with problems at valid places, in order.
func FuzzRead(f *testing.F) {
	for _, archive := range []string{"testdata/good.txtar", "testdata/bad.txtar"} {
		for _, text := range files(f, archive) {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		job, err := file.Read("f", text, file.Options{Job: "own"})
		if err == nil {
			for _, p := range job.Processes {
				if p.Name == "" || p.Executable == "" || p.ShutdownTimeout <= 0 || p.ShutdownSignal == "" || p.Restart.When == "" {
					t.Errorf("%+v", p)
				}
			}
			return
		}
		var e *file.Error
		if !errors.As(err, &e) || job != nil || len(e.Problems) == 0 {
			t.Fatalf("%v, %v", job, err)
		}
		last := 0
		for _, p := range e.Problems {
			if p.Text == "" || p.Line < max(1, last) || p.Column < 1 || len(p.Text) > 1000 {
				t.Errorf("%+v", p)
			}
			last = p.Line
		}
	})
}
