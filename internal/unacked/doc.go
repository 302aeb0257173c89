// Package unacked has both sides of what must arrive once although either side may be lost: the sender
// keeps numbered items until they are acknowledged ([Queue]), and passes all of them on again to each
// new receiver; the receiver remembers the last number for each process ([Marks]), so that nothing has
// its effect twice. Neither has locks, a clock or I/O.
package unacked
