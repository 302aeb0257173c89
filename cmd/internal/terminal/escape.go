package terminal

// Action is what an escape sequence asks for.
type Action int

// The actions.
const (
	None       Action = iota
	Disconnect        // ~.
	Suspend           // ~^Z
	Help              // ~?
)

// NoEscape is for no escape character.
const NoEscape = -1

// Escapes finds escape sequences in what is typed: the escape character at the beginning
// of a line, and another.
type Escapes struct {
	Char int // NoEscape: there are none

	inLine bool // not at the beginning of a line
	seen   bool // the escape character has been
}

// suspend is Ctrl-Z.
const suspend = 'Z' & 0x1f

// Next takes keys up to the end of the first sequence that asks for something. It returns
// what is to be sent, in the memory of keys and before it, and how many keys it took.
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
