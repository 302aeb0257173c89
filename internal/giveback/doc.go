// Package giveback returns memory to the system that a daemon has needed for a while.
//
// The Go runtime keeps memory to which the heap has grown until its next collections, and an idle
// program has one collection every two minutes. A daemon whose peers can make it decode and keep
// megabytes for a moment would keep them for minutes. So code that may have used much memory calls
// [Giver.Soon] when it is done. When there was no call for a moment, or there were calls for a minute,
// memory is returned: at once if the heap is larger than was needed the last time, otherwise some
// seconds after the last return; and once more a while later. A busy daemon hardly collects more
// often because of this, and an idle daemon is not woken.
package giveback
