// Package manpage compares manual pages with the help of commands.
package manpage
