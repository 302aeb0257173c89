// Package nodeset is the language of node specifications, which tell commands the nodes that are
// meant. A node specification is a list, separated by commas, of
//
//	3  n3  .3      a node by its number
//	-1  n-1        the front end; also master, self, localhost
//	0-4            the nodes of the table with these numbers
//	5-             ... from 5 on
//	all            every node of the table
//	NAME           a node by its name or address
//	STATE          the nodes in this state: up, down, ...
//	allSTATE       the same
//	notSTATE       the nodes in another state; also allnotSTATE
//	tag:NAME       the nodes that have this tag, or attribute
//	attr:rack=4    the nodes whose attribute is that; also != < <= > >=
//	!X             the nodes of the table that X does not mean; X is one of these
//	X&Y            those that X means, as far as Y means them, too
//	(LIST)         what the list means
//	random:3/X     any three of those that X means; X goes on to the next comma
//
// The nodes have the order of the list, and that of numbers inside one element. A node that is
// named twice is there twice. A number alone stands for itself, so a list of numbers needs no node
// table; the master finds out whether there is such a node. A range skips numbers without a node.
//
// Attributes are set by an administrator, or reported by the nodes themselves: number, name, state,
// arch, kernel, cpus, cores, sockets, gpus, mem (in bytes, what the kernel has for programs). Numbers, which may have a unit (64G: 64
// times 1024^3), are compared as numbers; other values are compared as texts in which numbers count
// (6.9 < 6.10.1). A node without an attribute is never meant.
//
// The package is pure: text and table in, numbers out.
package nodeset
