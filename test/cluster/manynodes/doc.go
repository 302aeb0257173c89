// Package manynodes runs thousands of nodes in one program: slaves that speak the real protocol
// over their own links, and have no process space. A process that is started on one of them is
// reported to run until it gets a signal that ends processes, or to have ended at once; it has no
// output.
//
// A program that uses it calls [Main] first if [Variable] is in its environment, which
// [Start] does for it.
package manynodes
