package accounts

import (
	"math"
	"strconv"
	"strings"
)

// User is an entry of passwd(5). Its home directory is "/" and its shell /bin/sh if it has none.
type User struct {
	Name     string
	UID, GID uint32
	Home     string
	Shell    string
}

// Group is an entry of group(5), without its members.
type Group struct {
	Name string
	GID  uint32
}

// DefaultShell is the shell of users whose entry names none.
const DefaultShell = "/bin/sh"

// entry is a User or a Group.
type entry interface{ is(k key) bool }

func (u User) is(k key) bool  { return k.fits(u.Name, u.UID) }
func (g Group) is(k key) bool { return k.fits(g.Name, g.GID) }

// parseUser parses a line of passwd(5).
func parseUser(line string) (User, bool) {
	f, uid, ok := fields(line, 7)
	if !ok {
		return User{}, false
	}
	gid, ok := number(f[3])
	if !ok {
		return User{}, false
	}
	u := User{Name: f[0], UID: uid, GID: gid, Home: f[5], Shell: f[6]}
	if u.Home == "" {
		u.Home = "/"
	}
	if u.Shell == "" {
		u.Shell = DefaultShell
	}
	return u, true
}

// parseGroup parses a line of group(5).
func parseGroup(line string) (Group, bool) {
	f, gid, ok := fields(line, 4)
	if !ok {
		return Group{}, false
	}
	return Group{Name: f[0], GID: gid}, true
}

// fields splits a line, and returns also the number in its third field. Comments and lines that
// include other sources, such as "+alice", are no entries.
func fields(line string, count int) ([]string, uint32, bool) {
	f := strings.Split(strings.TrimLeft(line, " \t"), ":")
	if len(f) != count || !possible(f[0]) {
		return nil, 0, false
	}
	id, ok := number(f[2])
	return f, id, ok
}

// none is no user or group: it means "no change" to chown(2) and setresuid(2).
const none = math.MaxUint32

// number parses the number of a user or group.
func number(text string) (uint32, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil && n != none
}
