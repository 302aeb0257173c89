package procfs

import (
	"context"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Asker returns the user and group that a method of a [Source] is called for; false if it is called
// for no particular user.
func Asker(ctx context.Context) (uid, gid uint32, ok bool) {
	who, ok := fuse.FromContext(ctx)
	if !ok {
		return 0, 0, false
	}
	return who.Uid, who.Gid, true
}

// caller returns the thread that has made a request; 0: no thread has.
func caller(ctx context.Context) uint32 {
	who, ok := fuse.FromContext(ctx)
	if !ok {
		return 0
	}
	return who.Pid
}
