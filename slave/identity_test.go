package slave

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadersOfTheToken checks that a token that others can read is warned of, and no other.
func TestReadersOfTheToken(t *testing.T) {
	for _, tc := range []struct {
		name  string
		mode  os.FileMode
		given string // by --join
		warns bool
	}{
		{"root's", 0o600, "", false},
		{"everybody's", 0o644, "", true},
		{"a group's", 0o640, "", true},
		{"not used", 0o644, "token", false},
	} {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte("token\n"), tc.mode); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		c := Config{Token: tc.given, Tokens: path}
		c.warnOfReaders(slog.New(slog.NewTextHandler(&log, nil)))
		if warns := strings.Contains(log.String(), "others than root can read the join token"); warns != tc.warns {
			t.Errorf("%s: it says %q", tc.name, &log)
		}
	}
	new(Config).warnOfReaders(slog.New(slog.DiscardHandler)) // without a file there is nothing to say
}
