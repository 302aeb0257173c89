package core

// Level is the severity of a line of the log.
type Level uint8

// The levels.
const (
	Debug Level = iota
	Info
	Warning
	Error
)

// logged is a line of the log: a text, and names with values.
type logged struct {
	Level Level
	Text  string
	Args  []any
}

// logger puts lines of the log among the outputs.
type logger struct{ core *Core }

func (l logger) Debug(text string, args ...any) { l.core.emit(Log{Debug, text, args}) }
func (l logger) Info(text string, args ...any)  { l.core.emit(Log{Info, text, args}) }
func (l logger) Warn(text string, args ...any)  { l.core.emit(Log{Warning, text, args}) }
func (l logger) Error(text string, args ...any) { l.core.emit(Log{Error, text, args}) }
