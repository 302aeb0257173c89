// Package liars is clients of the front end that name as their ghosts what does not do as
// a ghost does: it never stops, or does not run, or cannot say what it has done. Tests and
// benchmarks start them beside honest ones, who must not notice.
//
// A program that uses it calls [Main] first if [Variable] is in its environment.
package liars
