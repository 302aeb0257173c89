package core

import "bproc/wire"

// Bounds on the bytes of command lines.
const (
	// MaxArgv bounds the command line of a ghost. A node reports no more than 64 KiB.
	MaxArgv = 128 << 10

	// maxArgvs bounds the command lines of one node that the keeper has yet to give to ghosts;
	// maxAllArgvs bounds those of all nodes. The outbox to the keeper has room for more
	// (outbox.Bound). A ghost gets only the name of its program if there is no room for its command
	// line.
	maxArgvs    = 4 << 20
	maxAllArgvs = 16 << 20
)

// argvs counts the bytes of command lines that wait for the keeper.
type argvs struct{ all int }

// exec returns the request that gives a ghost the command line of its process, as far as there is
// room, and the size of that command line in bytes.
func (a *argvs) exec(s *session, p *proc, e *wire.Event) (m *wire.GhostExec, bytes int) {
	m = &wire.GhostExec{PID: p.pid, Argv: CutArgv(e.Argv, MaxArgv), Comm: cutText(e.Comm, maxComm)}
	bytes = SizeOf(m.Argv)
	if s.argvs+bytes > maxArgvs || a.all+bytes > maxAllArgvs {
		m.Argv = CutArgv(m.Argv[:min(len(m.Argv), 1)], maxPath)
		bytes = SizeOf(m.Argv)
	}
	s.argvs, a.all = s.argvs+bytes, a.all+bytes
	return m, bytes
}

// argvTaken frees the room of a command line that the keeper has.
type argvTaken struct {
	s     *session
	bytes int
}

func (t *argvTaken) do(c *Core) { t.s.argvs, c.argvs.all = t.s.argvs-t.bytes, c.argvs.all-t.bytes }

// Names are as long as the kernel allows.
const (
	maxComm = 64
	maxPath = 4096
)

// SizeOf returns the size of a command line in bytes.
func SizeOf(argv []string) int {
	bytes := 0
	for _, arg := range argv {
		bytes += len(arg) + 1
	}
	return bytes
}

// CutArgv returns as much of the beginning of a command line as fits into most bytes.
func CutArgv(argv []string, most int) []string {
	for i, arg := range argv {
		switch {
		case most <= 0:
			return argv[:i]
		case len(arg)+1 > most:
			return append(argv[:i:i], cutText(arg, most-1))
		}
		most -= len(arg) + 1
	}
	return argv
}

func cutText(text string, most int) string { return text[:min(len(text), most)] }
