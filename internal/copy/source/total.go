package source

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// Total returns the number of bytes of the regular files to send, as far as it can be determined.
func (s *Source) Total(ctx context.Context) (bytes int64) {
	for _, path := range s.Paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			continue
		case info.Mode().IsRegular():
			bytes += info.Size()
			continue
		}
		_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return ctx.Err() // files that cannot be read are not sent either
			}
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
			return ctx.Err()
		})
	}
	return bytes
}
