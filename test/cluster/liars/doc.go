// Package liars has clients of the front end that name other processes as their ghosts: a process
// that never stops, or does not run, or cannot report that it is done. Tests and benchmarks start
// them beside honest clients, which must not be affected.
//
// A program that uses it calls [Main] first if [Variable] is in its environment.
package liars
