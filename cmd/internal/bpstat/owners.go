package bpstat

import (
	"os/user"
	"strconv"
)

// Owners names users and groups, and looks each up once.
type Owners struct {
	users, groups map[uint32]string
}

// User returns the name of a user, or #UID.
func (o *Owners) User(uid uint32) string {
	return lookup(&o.users, uid, func(id string) (string, error) {
		u, err := user.LookupId(id)
		if err != nil {
			return "", err
		}
		return u.Username, nil
	})
}

// Group returns the name of a group, or #GID.
func (o *Owners) Group(gid uint32) string {
	return lookup(&o.groups, gid, func(id string) (string, error) {
		g, err := user.LookupGroupId(id)
		if err != nil {
			return "", err
		}
		return g.Name, nil
	})
}

func lookup(known *map[uint32]string, id uint32, find func(string) (string, error)) string {
	if name, ok := (*known)[id]; ok {
		return name
	}
	number := strconv.FormatUint(uint64(id), 10)
	name, err := find(number)
	if err != nil {
		name = "#" + number
	}
	if *known == nil {
		*known = map[uint32]string{}
	}
	(*known)[id] = name
	return name
}
