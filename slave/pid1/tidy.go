package pid1

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"bproc/wire"
)

// Bounds on unused stand-ins.
const (
	maxStandins  = 256              // more than these are ended as soon as possible
	idleStandin  = time.Minute      // leaders and anchors
	idleForkers  = 10 * time.Second // a cgroup with a forker in it cannot be removed
	tidyInterval = 5 * time.Second
	tidyCrowded  = time.Second // between two looks, when there are too many, and the least age
)

func (t *standins) crowdedLocked() {
	select {
	case t.crowded <- struct{}{}:
	default:
	}
}

// tidy ends stand-ins that have not been used for long.
func (t *standins) tidy(ctx context.Context) error {
	tick := time.NewTicker(tidyInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		case <-t.crowded:
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(tidyCrowded):
			}
		}
		if err := t.sweep(time.Now()); err != nil {
			t.log.Warn("cannot see which stand-ins are in use", "err", err)
		}
	}
}

// sweep ends the stand-ins that are too old at a time.
func (t *standins) sweep(now time.Time) error {
	t.making.Lock()
	defer t.making.Unlock()
	age, forkerAge := idleStandin, idleForkers
	if t.count() > maxStandins {
		age, forkerAge = tidyCrowded, tidyCrowded
	}
	t.doomForkers(now.Add(-forkerAge))
	if len(t.unused(now.Add(-age), inUse{})) == 0 {
		return nil
	}
	p, err := t.processes()
	if err != nil {
		return err
	}
	t.endAll(t.unused(now.Add(-age), p)) // the anchors first: a leader with anchors is not unused
	t.endAll(t.unused(now.Add(-age), p))
	return nil
}

func (t *standins) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.numbers) - len(t.shadows)
}

// doomForkers ends the forkers that have been idle since a time. It does not wait
// for them: in a frozen cgroup of version 1 a process does not die.
func (t *standins) doomForkers(since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sessions {
		for id, p := range s.forkers {
			for _, f := range slices.Clone(p.idle) {
				if f.since.Before(since) {
					t.doomLocked(f.sleeper)
				}
			}
			if len(p.members)+p.making == 0 && s.uses == 0 {
				delete(s.forkers, id)
			}
		}
	}
}

// unused returns the anchors without a process in their group, and the leaders without a process in
// their session and without other stand-ins, that have not been used since a time.
func (t *standins) unused(since time.Time, p inUse) []*sleeper {
	t.mu.Lock()
	defer t.mu.Unlock()
	var old []*sleeper
	needed := make(map[*session]bool)
	for _, s := range t.numbers {
		if s != s.session.leader {
			needed[s.session] = true
		}
	}
	for _, g := range t.groups {
		if g.uses == 0 && g.used.Before(since) && !p.groups[g.id] {
			old = append(old, g.anchor)
		}
	}
	for _, s := range t.sessions {
		if s.leader != nil && s.uses == 0 && s.used.Before(since) && !needed[s] && !p.sessions[s.id] {
			old = append(old, s.leader)
		}
	}
	return old
}

// inUse are the groups and sessions that have a process.
type inUse struct{ groups, sessions map[wire.PID]bool }

// processes returns the groups and sessions of the processes of the space that are not stand-ins.
func (t *standins) processes() (inUse, error) {
	p := inUse{groups: make(map[wire.PID]bool), sessions: make(map[wire.PID]bool)}
	pids, err := processes()
	if err != nil {
		return p, fmt.Errorf("look at all processes: %w", err)
	}
	for _, pid := range pids {
		if t.at(pid) != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/stat")
		if err != nil {
			continue // ended meanwhile
		}
		if f, ok := parseStat(stat); ok {
			p.groups[f.pgid], p.sessions[f.sid] = true, true
		}
	}
	return p, nil
}
