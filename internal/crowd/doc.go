// Package crowd bounds connections whose peers have not proved yet that they want anything. If a
// [Crowd] has too many, the oldest one of the origin with the most connections goes. So a silent
// peer with many connections keeps nobody else out, and descriptors do not run out. In a [Line],
// connections wait for each other; it is for cases in which thousands arrive at once and serving
// each takes time. [Shares] are places that no single user can exhaust.
package crowd
