package bprsh

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// user is an entry of passwd(5).
type user struct {
	name  string
	uid   int
	gid   int
	home  string
	shell string
}

// defaultShell is the shell of users whose entry names none.
const defaultShell = "/bin/sh"

const passwdFile = "/etc/passwd"

// parseUser parses a line of passwd(5).
func parseUser(line string) (user, bool) {
	f := strings.Split(strings.TrimRight(line, "\n"), ":")
	if len(f) != 7 {
		return user{}, false
	}
	uid, uidErr := strconv.ParseUint(f[2], 10, 32)
	gid, gidErr := strconv.ParseUint(f[3], 10, 32)
	if uidErr != nil || gidErr != nil || f[0] == "" {
		return user{}, false
	}
	u := user{name: f[0], uid: int(uid), gid: int(gid), home: f[5], shell: f[6]}
	if u.home == "" {
		u.home = "/"
	}
	if u.shell == "" {
		u.shell = defaultShell
	}
	return u, true
}

// lookUp finds a user by name or, if name is empty, by number. It searches /etc/passwd first, then
// all sources of the system (nsswitch.conf(5)).
func lookUp(name string, uid int) (user, error) {
	is := func(u user) bool { return u.name == name || name == "" && u.uid == uid }
	if f, err := os.Open(passwdFile); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if u, ok := parseUser(lines.Text()); ok && is(u) {
				return u, nil
			}
		}
	}
	key := name
	if name == "" {
		key = strconv.Itoa(uid)
	}
	line, err := exec.Command("getent", "passwd", "--", key).Output()
	if u, ok := parseUser(string(line)); err == nil && ok && is(u) {
		return u, nil
	}
	return user{}, fmt.Errorf("user %s is not known here", key)
}

// caller returns the user of this process. A user without an entry is described by the environment.
func caller() user {
	uid := os.Getuid()
	u, err := lookUp("", uid)
	if err == nil {
		return u
	}
	u = user{name: os.Getenv("LOGNAME"), uid: uid, gid: os.Getgid(), home: os.Getenv("HOME"), shell: os.Getenv("SHELL")}
	if u.name == "" {
		u.name = strconv.Itoa(uid)
	}
	if !path.IsAbs(u.home) {
		u.home = "/"
	}
	if !path.IsAbs(u.shell) {
		u.shell = defaultShell
	}
	return u
}

// become changes this process, and so all its children, to another user.
func (u *user) become() error {
	out, err := exec.Command("id", "-G", "--", u.name).Output()
	if err != nil {
		return fmt.Errorf("groups of user %s: %w", u.name, err)
	}
	var groups []int
	for _, field := range strings.Fields(string(out)) {
		gid, err := strconv.Atoi(field)
		if err != nil {
			return fmt.Errorf("groups of user %s: %w", u.name, err)
		}
		groups = append(groups, gid)
	}
	if err := errors.Join(syscall.Setgroups(groups), syscall.Setresgid(u.gid, u.gid, u.gid), syscall.Setresuid(u.uid, u.uid, u.uid)); err != nil {
		return fmt.Errorf("become user %s: %w", u.name, err)
	}
	return nil
}

// PATH of a command, for root and for others, as in login(1).
const (
	rootPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	userPath = "/usr/local/bin:/usr/bin:/bin"
)

// locale are patterns of the variables that most systems pass on by default with ssh.
var locale = []string{"LANG", "LC_*"}

// environment returns the environment of a command.
func (u *user) environment(o *options, onTerminal bool) []string {
	search := userPath
	if u.uid == 0 {
		search = rootPath
	}
	env := []string{"HOME=" + u.home, "USER=" + u.name, "LOGNAME=" + u.name, "SHELL=" + u.shell, "PATH=" + search}
	patterns := append(slices.Clone(locale), o.send...)
	if onTerminal {
		patterns = append(patterns, "TERM", "COLORTERM")
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil }) {
			env = set(env, v)
		}
	}
	for _, v := range o.set {
		if strings.Contains(v, "=") {
			env = set(env, v)
		}
	}
	return env
}

// set puts a variable into an environment and replaces an earlier value.
func set(env []string, variable string) []string {
	name, _, _ := strings.Cut(variable, "=")
	for i, v := range env {
		if strings.HasPrefix(v, name+"=") {
			env[i] = variable
			return env
		}
	}
	return append(env, variable)
}
