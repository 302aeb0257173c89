// Package nodeset is the language in which the commands are told which nodes
// are meant. A node specification is a list, separated by commas, of
//
//	3  n3  .3      a node by its number
//	-1  n-1        the front end; also master, self, localhost
//	0-4            the nodes of the table with these numbers
//	5-             ... from 5 on
//	all            every node of the table
//	NAME           a node by its name or address
//	STATE          the nodes in this state: up, down, ...
//	allSTATE       the same
//	notSTATE       the nodes in another state; also !STATE, allnotSTATE
//
// The order is that of the list, and of numbers inside one element. What is
// named twice is there twice. A number alone stands for itself, so a list of
// such needs no node table; it is the master's to say that there is no such
// node. In a range, numbers without a node are passed over.
//
// The package is pure: text and table in, numbers out.
package nodeset
