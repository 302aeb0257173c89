package inherited

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// DropStderr replaces the standard error output by /dev/null: a reader gets the end of file.
func DropStderr() error {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	if err := unix.Dup3(int(null.Fd()), unix.Stderr, 0); err != nil {
		return fmt.Errorf("drop standard error output: %w", err)
	}
	return nil
}
