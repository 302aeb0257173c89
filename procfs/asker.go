package procfs

import (
	"context"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Asker returns the user and group for whom a method of a [Source] is called; false if it
// is not for anybody in particular.
func Asker(ctx context.Context) (uid, gid uint32, ok bool) {
	who, ok := fuse.FromContext(ctx)
	if !ok {
		return 0, 0, false
	}
	return who.Uid, who.Gid, true
}

// caller returns the thread that has made a request; 0: it is none's.
func caller(ctx context.Context) int32 {
	who, ok := fuse.FromContext(ctx)
	if !ok {
		return 0
	}
	return int32(who.Pid)
}
