package core

// Level is the severity of a log line.
type Level uint8

// The levels.
const (
	Debug Level = iota
	Info
	Warning
	Error
)

// logger puts log lines among the outputs.
type logger struct{ core *Core }

func (l logger) Info(text string, args ...any)  { l.core.emit(Log{Info, text, args}) }
func (l logger) Warn(text string, args ...any)  { l.core.emit(Log{Warning, text, args}) }
func (l logger) Error(text string, args ...any) { l.core.emit(Log{Error, text, args}) }
