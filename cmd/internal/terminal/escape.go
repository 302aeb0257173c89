package terminal

// Action is the action of an escape sequence.
type Action int

// The actions.
const (
	None       Action = iota
	Disconnect        // ~.
	Suspend           // ~^Z
	Help              // ~?
)

// NoEscape means that there is no escape character.
const NoEscape = -1

// Escapes finds escape sequences in typed keys: the escape character at the beginning of a line,
// and another character.
type Escapes struct {
	Char int // NoEscape: there are no sequences

	inLine bool // not at the beginning of a line
	seen   bool // the last key was the escape character
}

// suspend is Ctrl-Z.
const suspend = 'Z' & 0x1f

// Next processes keys up to the end of the first sequence with an action. It appends the bytes to
// send to send, which may share the memory of keys, and returns the number of keys processed.
func (e *Escapes) Next(keys, send []byte) (out []byte, taken int, do Action) {
	for i, c := range keys {
		if e.seen {
			e.seen = false
			switch c {
			case '.':
				return send, i + 1, Disconnect
			case suspend:
				return send, i + 1, Suspend
			case '?':
				return send, i + 1, Help
			case byte(e.Char):
			default:
				send = append(send, byte(e.Char))
			}
			send = append(send, c)
			e.inLine = c != '\r' && c != '\n'
			continue
		}
		if !e.inLine && int(c) == e.Char {
			e.seen = true
			continue
		}
		send = append(send, c)
		e.inLine = c != '\r' && c != '\n'
	}
	return send, len(keys), None
}
