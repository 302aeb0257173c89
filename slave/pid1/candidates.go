package pid1

import (
	"strings"

	"golang.org/x/sys/unix"
)

// defaultPath is searched when the environment has no PATH, as execvp(3) does.
const defaultPath = "/bin:/usr/bin"

// maxCandidates bounds the names of all files that are tried for a command, in bytes. Both the
// command and PATH come from the user, and their product is in init's memory.
const maxCandidates = 1 << 20

// candidates returns the files that execvp(3) tries for a command, in order. An empty element of
// PATH is the working directory. A command that is too long for a file name is tried as it is, so
// that the kernel returns the error.
func candidates(command string, env []string) ([]string, unix.Errno) {
	switch {
	case command == "":
		return nil, 0 // execvp: ENOENT
	case strings.Contains(command, "/"), len(command) > unix.NAME_MAX:
		return []string{command}, 0
	}
	path := searchPath(env)
	count := strings.Count(path, ":") + 1
	if len(path)+count*(len(command)+1) > maxCandidates {
		return nil, unix.E2BIG
	}
	files := make([]string, 0, count)
	for dir := range strings.SplitSeq(path, ":") {
		if dir != "" {
			dir += "/"
		}
		files = append(files, dir+command)
	}
	return files, 0
}

// searchPath returns the first PATH of an environment, which is the one that
// getenv(3) finds.
func searchPath(env []string) string {
	for _, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			return path
		}
	}
	return defaultPath
}
