package master

import (
	"log/slog"

	"bproc/internal/taskgroup"
)

// openTaskTree returns the control groups that bound tasks on this machine; nil: none does.
func openTaskTree(log *slog.Logger) taskTree {
	tree, err := taskgroup.Open()
	if err != nil {
		log.Warn("control groups do not bound what processes fork on nodes", "err", err)
		return nil
	}
	return tree
}
