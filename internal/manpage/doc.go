// Package manpage compares manual pages with what commands say of themselves.
package manpage
