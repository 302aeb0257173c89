package sparselog

import (
	"io"
	"os"
	"sync"
)

// fileSize bounds a log that is a file, in bytes.
const fileSize = 4 << 20

// File is a log that nobody else writes. When it is a file that has grown to a bound, its
// older half is taken away: the file stays the same, so whoever started this program need
// not know.
type File struct {
	mu   sync.Mutex
	file *os.File
	most int64
}

// NewFile returns a File for a file, which was opened for reading, too, and to append.
// Others, such as a terminal or a socket, are written as they are.
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

// cutLocked takes the older half away. What cannot be read is not kept: a log that is full
// would be worse.
func (f *File) cutLocked(size int64) {
	kept := make([]byte, f.most/2)
	n, err := f.file.ReadAt(kept, max(0, size-int64(len(kept))))
	if err != nil && err != io.EOF {
		n = 0
	}
	kept = kept[:n]
	for i, b := range kept {
		if b == '\n' { // what is before is half a record
			kept = kept[i+1:]
			break
		}
	}
	if f.file.Truncate(0) == nil {
		_, _ = f.file.Write(kept) // as with any record, there is nobody to tell
	}
}
