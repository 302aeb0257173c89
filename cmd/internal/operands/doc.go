// Package operands checks the operands of a command, with errors of one line.
package operands
