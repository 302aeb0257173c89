// Package manynodes is thousands of nodes in one program: slaves that speak the real protocol
// over links of their own, and have no process space. What is started on one of them is said
// to run until it gets a signal that ends processes.
//
// A program that uses it calls [Main] first if [Variable] is in its environment, which
// [Start] does for it.
package manynodes
