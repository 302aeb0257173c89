package bpstat

import (
	"strconv"

	"bproc/internal/accounts"
)

// Owners names users and groups, and looks each up once.
type Owners struct {
	finder        *accounts.Finder
	users, groups map[uint32]string
}

// mostLookups bounds how often getent is executed for owners that the files do not name.
const mostLookups = 64

// User returns the name of a user, or #UID.
func (o *Owners) User(uid uint32) string {
	return o.lookup(&o.users, uid, func() (string, error) {
		u, err := o.finder.UserID(uid)
		return u.Name, err
	})
}

// Group returns the name of a group, or #GID.
func (o *Owners) Group(gid uint32) string {
	return o.lookup(&o.groups, gid, func() (string, error) {
		g, err := o.finder.GroupID(gid)
		return g.Name, err
	})
}

func (o *Owners) lookup(known *map[uint32]string, id uint32, find func() (string, error)) string {
	if name, ok := (*known)[id]; ok {
		return name
	}
	if o.finder == nil {
		o.finder = &accounts.Finder{Most: mostLookups}
	}
	name, err := find()
	if err != nil {
		name = "#" + strconv.FormatUint(uint64(id), 10)
	}
	if *known == nil {
		*known = map[uint32]string{}
	}
	(*known)[id] = name
	return name
}
