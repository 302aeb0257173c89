package accounts

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// ErrUnknown says that there is no such user or group.
var ErrUnknown = errors.New("is not known here")

// Finder looks up users and groups. It belongs to one goroutine.
type Finder struct {
	Most int // getent is executed at most so many times; 0: only files are read

	asked  int
	spent  time.Duration // on getent
	failed error         // of getent, which is not executed again
}

// key is what an entry is looked up by: a name or, if that is empty, a number.
type key struct {
	name string
	id   uint32
}

func (k key) fits(name string, id uint32) bool { return k.name == name || k.name == "" && k.id == id }

func (k key) String() string {
	if k.name == "" {
		return strconv.FormatUint(uint64(k.id), 10)
	}
	return k.name
}

// User finds a user by name.
func (f *Finder) User(name string) (User, error) { return named(f, users, name) }

// UserID finds a user by number.
func (f *Finder) UserID(uid uint32) (User, error) { return find(f, users, key{id: uid}) }

// Group finds a group by name.
func (f *Finder) Group(name string) (Group, error) { return named(f, groups, name) }

// GroupID finds a group by number.
func (f *Finder) GroupID(gid uint32) (Group, error) { return find(f, groups, key{id: gid}) }

// database is where entries of a kind are.
type database[E entry] struct {
	kind  string
	file  string
	name  string // for getent
	parse func(line string) (E, bool)
}

var (
	users  = database[User]{"user", "/etc/passwd", "passwd", parseUser}
	groups = database[Group]{"group", "/etc/group", "group", parseGroup}
)

func named[E entry](f *Finder, d database[E], name string) (E, error) {
	if !possible(name) {
		var zero E
		return zero, fmt.Errorf("%s %q %w", d.kind, name, ErrUnknown)
	}
	return find(f, d, key{name: name})
}

// possible reports whether an entry can have a name.
func possible(name string) bool {
	return name != "" && !strings.Contains("#+- \t", name[:1]) && !strings.ContainsAny(name, ":\n\x00")
}

func find[E entry](f *Finder, d database[E], k key) (E, error) {
	if e, ok := d.search(k); ok {
		return e, nil
	}
	line, err := f.ask(d.name, k)
	if err != nil {
		var zero E
		return zero, fmt.Errorf("%s %s %w", d.kind, k, err)
	}
	e, ok := d.parse(line)
	if !ok || !e.is(k) {
		var zero E
		return zero, fmt.Errorf("%s %s: getent answers with another entry: %q", d.kind, k, line)
	}
	return e, nil
}

// search looks for an entry in the file. A file that cannot be read has none.
func (d database[E]) search(k key) (found E, ok bool) {
	file, err := os.Open(d.file)
	if err != nil {
		return found, false
	}
	defer file.Close()
	for lines := bufio.NewReader(file); err == nil; {
		var line string
		line, err = lines.ReadString('\n') // a group may have any number of members
		if e, ok := d.parse(strings.TrimSuffix(line, "\n")); ok && e.is(k) && (err == nil || errors.Is(err, io.EOF)) {
			return e, true
		}
	}
	return found, false
}
