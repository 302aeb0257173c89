package pid1

import "strings"

// defaultPath is searched when the environment has no PATH, as execvp(3) does.
const defaultPath = "/bin:/usr/bin"

// candidates returns the files that execvp(3) tries for a command, in order.
// An empty element of PATH is the working directory.
func candidates(command string, env []string) []string {
	switch {
	case command == "":
		return nil // execvp: ENOENT
	case strings.Contains(command, "/"):
		return []string{command}
	}
	dirs := strings.Split(searchPath(env), ":")
	files := make([]string, len(dirs))
	for i, dir := range dirs {
		if dir == "" {
			files[i] = command
			continue
		}
		files[i] = dir + "/" + command
	}
	return files
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
