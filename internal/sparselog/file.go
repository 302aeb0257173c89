package sparselog

import (
	"io"
	"os"
	"sync"
)

// fileSize bounds a log file, in bytes.
const fileSize = 4 << 20

// File is a log with this program as its only writer. When a file has grown to the bound, its older
// half is removed. It remains the same file, so the program that opened it is not affected.
type File struct {
	mu   sync.Mutex
	file *os.File
	most int64
}

// NewFile returns a File for a file that was opened for reading and appending. Other kinds, such as
// terminals and sockets, are not bounded.
func NewFile(file *os.File) *File { return &File{file: file, most: fileSize} }

// Write writes one record.
func (f *File) Write(record []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at, err := f.file.Stat(); err == nil && at.Mode().IsRegular() && at.Size()+int64(len(record)) > f.most {
		f.cutLocked(at.Size())
	}
	return f.file.Write(record)
}

// cutLocked removes the older half. If the newer half cannot be read, it removes everything: a full
// log would be worse.
func (f *File) cutLocked(size int64) {
	kept := make([]byte, f.most/2)
	n, err := f.file.ReadAt(kept, max(0, size-int64(len(kept))))
	if err != nil && err != io.EOF {
		n = 0
	}
	kept = kept[:n]
	for i, b := range kept {
		if b == '\n' { // the text before it is an incomplete record
			kept = kept[i+1:]
			break
		}
	}
	if f.file.Truncate(0) == nil {
		_, _ = f.file.Write(kept) // an error cannot be reported, as with any record
	}
}
