// Package giveback returns memory to the system that a daemon has needed for a while.
//
// The Go runtime keeps what the heap has grown to until its next collections, and an idle
// program has one every two minutes. A daemon that others can have decode and keep
// megabytes for a moment would have these for minutes. So whatever may have taken much says so
// when it is over. When nobody has said so for a moment, memory is given back: at once if there
// is more than was needed the last time, else some seconds after that; and once more a while
// later. A daemon that is busy does not collect more often by this, and one that is idle is not
// woken.
package giveback
