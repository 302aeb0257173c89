package service

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready reports that the daemon is ready.
func Ready() { _, _ = daemon.SdNotify(false, daemon.SdNotifyReady) }

// Stopping reports that the daemon is stopping.
func Stopping() { _, _ = daemon.SdNotify(false, daemon.SdNotifyStopping) }

// Watch feeds the service manager's watchdog, if there is one (WatchdogSec= of systemd.service(5)),
// until the context is done. It does so each time alive returns. alive must check the part of the
// daemon on which all others depend: if that part hangs, alive does not return, and the watchdog
// ends the daemon.
func Watch(ctx context.Context, alive func()) error {
	patience, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	if patience == 0 {
		return nil
	}
	ticker := time.NewTicker(patience / 3) // two in a row may be late
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
