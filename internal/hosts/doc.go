// Package hosts maps the names of a cluster to addresses, in the form of hosts(5): n3 and .3 mean
// node 3, master the front end, and self the machine itself.
//
//	# bproc: begin
//	10.1.0.1	master
//	10.1.0.2	n0 .0 self
//	10.1.0.3	n1 .1
//	# bproc: end
//
// These lines follow the lines of the machine's own file. Names that the file itself defines keep
// their meaning and are left out. The name that a node calls itself is not entered: otherwise
// whoever controls a node could take over another machine's name.
package hosts
