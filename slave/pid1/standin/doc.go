// Package standin tells the stand-ins in a process space from its other processes.
//
// A stand-in is a dormant process that bpinit keeps, so that the sessions and process groups of the
// front end exist in the space. It shares bpinit's memory. No process of the front end corresponds
// to it, so programs that list the processes of a space leave it out. Its number is below those
// that nodes give out.
package standin
