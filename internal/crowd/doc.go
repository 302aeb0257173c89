// Package crowd bounds connections whose other end has not proved yet that it wants
// anything. When there are too many in a [Crowd], the oldest of whoever has most of them goes: so
// one peer that opens many and says nothing keeps nobody else out, and descriptors do
// not run out. In a [Line] they wait for each other, for where thousands come at the same moment
// and to serve each takes time.
package crowd
