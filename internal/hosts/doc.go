// Package hosts is what the names of a cluster mean, in the form of hosts(5): n3 and .3 for node
// 3, master for the front end, self for the machine itself.
//
//	# bproc: begin
//	10.1.0.1	master
//	10.1.0.2	n0 .0 self
//	10.1.0.3	n1 .1
//	# bproc: end
//
// These lines go behind those of the machine's own file, and what that names by itself stays as
// it is: such a name is left out. What a node calls itself is in no line, since anybody who has a
// node could take another machine's name by it.
package hosts
