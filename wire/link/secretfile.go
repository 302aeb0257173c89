package link

import (
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// replaceFile writes data into a file that only its owner may read: all of it or, if the machine
// stops meanwhile, nothing.
func replaceFile(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// trySize is more than a file with secrets has.
const trySize = 16 << 10

// tryWrite makes a secret directory, and returns why a file could not be written into it.
func tryWrite(dir string) error {
	if err := secretDir(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, "try")
	if err := replaceFile(path, make([]byte, trySize)); err != nil {
		return err
	}
	return os.Remove(path)
}

// syncDir makes the names in a directory survive a stop of the machine.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// secretDir makes a directory that only its owner may enter, or checks that an existing one is.
func secretDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o: others may enter it", dir, fi.Mode().Perm())
	}
	return nil
}

// parsePEM returns the blocks of PEM data, which must have these types in this order, and the data
// behind them.
func parsePEM(data []byte, types ...string) (blocks [][]byte, rest []byte, err error) {
	blocks = make([][]byte, 0, len(types))
	for _, want := range types {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil || b.Type != want {
			return nil, nil, fmt.Errorf("no block %q where it belongs", want)
		}
		blocks = append(blocks, b.Bytes)
	}
	return blocks, data, nil
}

// Types of the PEM blocks.
const (
	pemKey         = "PRIVATE KEY"
	pemCertificate = "CERTIFICATE"
	pemHome        = "BPROC HOME"
)

func appendPEM(dst []byte, kind string, der []byte) []byte {
	return append(dst, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})...)
}
