package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// shutdownLimit bounds the stop of all units that involve bproc. A unit that waits for a process
// that does not end takes 90 s, or the TimeoutStopSec of a unit of bproc.
const shutdownLimit = 10 * time.Second

// ours matches the units that involve bproc: its own, and those that have commands on nodes.
var ours = regexp.MustCompile(`^(bp|job|seat|session-|user@)`)

// Messages about units in systemd's journal: systemd.journal-fields(7), and sd-messages.h.
const (
	stopping = "de5b426a63be47a7b6ac3eaac82e2f6f"
	stopped  = "9d1aaa27d60140bd96365438aad20286"
)

// shutdownWithJobs shuts the machine down; its journal stays on the disk.
func (m *machine) shutdownWithJobs(ctx context.Context) error {
	begin, err := m.run(ctx, "mkdir -p /var/log/journal && journalctl --flush && journalctl --sync && cut -d' ' -f1 /proc/uptime")
	if err != nil {
		return err
	}
	m.shutdownAt = strings.TrimSpace(begin) + "s"
	took, err := m.shutdown(ctx, "reboot")
	if err == nil {
		fmt.Printf("     %s: shutdown with jobs: %.1f s in all\n", m.name, took.Seconds())
	}
	return err
}

// quick fails if the shutdown before this boot waited for bproc.
func (m *machine) quick(ctx context.Context) error {
	out, err := m.run(ctx, "journalctl -b -1 -o json --output-fields=UNIT,MESSAGE_ID _PID=1")
	if err != nil {
		return err
	}
	begin, err := time.ParseDuration(m.shutdownAt)
	if err != nil {
		return err
	}
	stuck, err := m.run(ctx, "journalctl -b -1 -o short-monotonic | grep -B 40 -A 5 'Failed unmounting' || true")
	if err != nil || stuck != "" {
		return errors.Join(err, fmt.Errorf("%s: a file system could not be unmounted:\n%s", m.name, stuck))
	}
	took, units, err := shutdownTime(out, begin)
	if err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	fmt.Printf("     %s: of that %.1f s with bproc: %s\n", m.name, took.Seconds(), units)
	if took > shutdownLimit {
		return fmt.Errorf("%s: the shutdown took %v, more than %v: %s", m.name, took, shutdownLimit, units)
	}
	return nil
}

// shutdownTime returns how long our units took to stop, from the first stop request to the end of
// the last, and how long each took. Since is the kernel's time before the shutdown.
func shutdownTime(journal string, since time.Duration) (time.Duration, string, error) {
	var first, last time.Duration
	var units []string
	begun := map[string]time.Duration{}
	lines := bufio.NewScanner(strings.NewReader(journal))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct {
			Time int64  `json:"__MONOTONIC_TIMESTAMP,string"`
			Unit string `json:"UNIT"`
			ID   string `json:"MESSAGE_ID"`
		}
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil || !ours.MatchString(entry.Unit) {
			continue // a field with several values is of no interest
		}
		at := time.Duration(entry.Time) * time.Microsecond
		if at < since {
			continue
		}
		switch entry.ID {
		case stopping:
			if first == 0 {
				first = at
			}
			begun[entry.Unit] = at
		case stopped:
			began, ok := begun[entry.Unit]
			if !ok {
				continue // it ended by itself
			}
			delete(begun, entry.Unit)
			last = at
			units = append(units, fmt.Sprintf("%s %.1f s", entry.Unit, (at-began).Seconds()))
		}
	}
	switch {
	case len(begun) > 0:
		return 0, "", fmt.Errorf("the journal does not have the end of %v", begun)
	case len(units) == 0:
		return 0, "", fmt.Errorf("the journal has no end of bproc's units, in %d bytes", len(journal))
	}
	return last - first, strings.Join(units, ", "), lines.Err()
}
