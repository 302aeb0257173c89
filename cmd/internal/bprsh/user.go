package bprsh

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bproc/internal/accounts"
)

// finder looks up the few users of a command line.
func finder() *accounts.Finder { return &accounts.Finder{Most: 1} }

// caller returns the user of this process. A user without an entry is described by the environment.
func caller() accounts.User {
	uid := uint32(os.Getuid())
	u, err := finder().UserID(uid)
	if err == nil {
		return u
	}
	u = accounts.User{Name: os.Getenv("LOGNAME"), UID: uid, GID: uint32(os.Getgid()), Home: os.Getenv("HOME"), Shell: os.Getenv("SHELL")}
	if u.Name == "" {
		u.Name = strconv.FormatUint(uint64(uid), 10)
	}
	if !path.IsAbs(u.Home) {
		u.Home = "/"
	}
	if !path.IsAbs(u.Shell) {
		u.Shell = accounts.DefaultShell
	}
	return u
}

// become changes this process, and so all its children, to another user.
func become(u *accounts.User) error {
	gids, err := accounts.GroupsOf(u.Name)
	if err != nil {
		return err
	}
	groups := make([]int, len(gids))
	for i, gid := range gids {
		groups[i] = int(gid)
	}
	uid, gid := int(u.UID), int(u.GID)
	if err := errors.Join(syscall.Setgroups(groups), syscall.Setresgid(gid, gid, gid), syscall.Setresuid(uid, uid, uid)); err != nil {
		return fmt.Errorf("become user %s: %w", u.Name, err)
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

// environment returns the environment of a command of a user.
func (o *options) environment(u *accounts.User, onTerminal bool) []string {
	search := userPath
	if u.UID == 0 {
		search = rootPath
	}
	env := []string{"HOME=" + u.Home, "USER=" + u.Name, "LOGNAME=" + u.Name, "SHELL=" + u.Shell, "PATH=" + search}
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
