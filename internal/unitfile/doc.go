// Package unitfile is for tests: it compares a program's unit of systemd with the
// program.
package unitfile
