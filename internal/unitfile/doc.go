// Package unitfile is for tests: it compares a program's systemd unit with the program.
package unitfile
