// Package fakemaster is a master for tests of clients: it speaks the protocol on a unix socket, and
// a test decides the outcome of each request.
//
// Ghosts are copies of the test program that end as the test demands. A package that uses them has
//
//	func TestMain(m *testing.M) { fakemaster.Main(m) }
package fakemaster
