package service

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready says that the daemon serves.
func Ready() { _, _ = daemon.SdNotify(false, daemon.SdNotifyReady) }

// Stopping says that the daemon has begun to end.
func Stopping() { _, _ = daemon.SdNotify(false, daemon.SdNotifyStopping) }

// Watch feeds the service manager's watchdog, if there is one (WatchdogSec= of
// systemd.service(5)), until the context ends: each time that alive has returned,
// which asks the part of the daemon that everything depends on. One that hangs keeps
// alive from returning, and the daemon is ended by the watchdog.
func Watch(ctx context.Context, alive func()) error {
	patience, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	if patience == 0 {
		return nil
	}
	ticker := time.NewTicker(patience / 3) // two may be late
	defer ticker.Stop()
	for {
		alive()
		_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
