// Package fakemaster is a master for tests of its clients: it speaks the
// protocol on a unix socket, and a test decides what becomes of each request.
//
// Ghosts are copies of the test program, which end as the test says. A package
// that uses them has
//
//	func TestMain(m *testing.M) { fakemaster.Main(m) }
package fakemaster
