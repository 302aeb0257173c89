package accounts

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// limit bounds the time that a Finder spends on getent, in all. It is below half of what a client
// waits for the master, whose configuration may name a user and a group.
const limit = 4 * time.Second

// pipeTime is how long the output of a program is read after its end: processes that it has left
// behind may hold it open.
const pipeTime = time.Second

// ask asks getent for an entry, and returns its line. After a failure, or when the bounds are
// reached, getent is not executed again.
func (f *Finder) ask(database string, k key) (string, error) {
	switch {
	case f.Most == 0 || k.name == "" && k.id == none:
		return "", ErrUnknown
	case k.name != "" && strings.Trim(k.name, "0123456789") == "": // getent takes it for a number
		return "", ErrUnknown
	case f.failed != nil:
		return "", f.failed
	case f.asked == f.Most:
		return "", fmt.Errorf("is not looked up: getent was executed %d times", f.asked)
	}
	f.asked++
	begun := time.Now()
	out, err := output(limit-f.spent, "getent", database, "--", k.String())
	f.spent += time.Since(begun)
	if err = meaning(err); err != nil && !errors.Is(err, ErrUnknown) {
		err = fmt.Errorf("cannot be looked up: getent: %w", err)
		f.failed = err
	}
	line, _, _ := strings.Cut(out, "\n")
	return line, err
}

// meaning returns ErrUnknown for the exit code of getent for a key that no source has. A system
// without getent has no sources but files.
func meaning(err error) error {
	const notFound = 2
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrNotFound) || errors.As(err, &exit) && exit.ExitCode() == notFound {
		return ErrUnknown
	}
	return err
}

// GroupsOf returns the numbers of all groups of a user, as id(1) finds them.
func GroupsOf(name string) ([]uint32, error) {
	out, err := output(limit, "id", "-G", "--", name)
	if err != nil {
		return nil, fmt.Errorf("groups of user %s: id: %w", name, err)
	}
	var gids []uint32
	for _, field := range strings.Fields(out) {
		gid, ok := number(field)
		if !ok {
			return nil, fmt.Errorf("groups of user %s: id answers %q", name, out)
		}
		gids = append(gids, gid)
	}
	return gids, nil
}

// output executes a program, which is killed when it takes too long, and returns its output.
func output(limit time.Duration, program string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.WaitDelay = &out, pipeTime
	if err := cmd.Start(); err != nil {
		return "", err
	}
	late := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() }) // it may have ended
	err := cmd.Wait()
	if !late.Stop() && err != nil {
		err = fmt.Errorf("no answer within %v", limit)
	}
	return out.String(), err
}
