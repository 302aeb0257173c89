package link

import (
	"fmt"
	"log/slog"
)

// muxLog passes the log lines of yamux to slog. The error that ends a session has the important
// ones, too.
type muxLog struct{ log *slog.Logger }

func (m muxLog) Print(v ...any)            { m.log.Debug("yamux", "msg", fmt.Sprint(v...)) }
func (m muxLog) Printf(f string, v ...any) { m.log.Debug("yamux", "msg", fmt.Sprintf(f, v...)) }
func (m muxLog) Println(v ...any)          { m.Print(v...) }
