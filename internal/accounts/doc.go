// Package accounts looks up users and groups of the system, with those of directory services such as
// LDAP. The programs are built without cgo, so os/user knows only those of files. This package reads
// the files and then asks getent(1), which goes by nsswitch.conf(5).
package accounts
