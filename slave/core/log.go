package core

// Level says how much a line of the log matters.
type Level uint8

// The levels.
const (
	Debug Level = iota
	Info
	Warning
	Error
)

// logger puts lines of the log among the outputs.
type logger struct{ core *Core }

func (l logger) Info(text string, args ...any)  { l.core.emit(Log{Info, text, args}) }
func (l logger) Warn(text string, args ...any)  { l.core.emit(Log{Warning, text, args}) }
func (l logger) Error(text string, args ...any) { l.core.emit(Log{Error, text, args}) }
