// Package operands says in a line what is wrong with the operands of a command.
package operands
