package core

import "time"

// Recorded feeds the inputs of a recording to a core of its own (recording.Machine).
type Recorded struct{ Core *Core }

// Types returns a value of each type of input, and the configuration.
func (*Recorded) Types() map[string]any {
	return map[string]any{
		"begin":          Config{},
		"Answer":         Answer{},
		"Attach":         Attach{},
		"ClientAttached": ClientAttached{},
		"ClientAway":     ClientAway{},
		"ClientRefused":  ClientRefused{},
		"ClientLeft":     ClientLeft{},
		"Configure":      Configure{},
		"EndAll":         EndAll{},
		"FromKeeper":     FromKeeper{},
		"FromNode":       FromNode{},
		"HardwareRead":   HardwareRead{},
		"Join":           Join{},
		"KeeperBack":     KeeperBack{},
		"KeeperFound":    KeeperFound{},
		"Kept":           Kept{},
		"News":           News{},
		"NodeCut":        NodeCut{},
		"NodeHealed":     NodeHealed{},
		"NodeLost":       NodeLost{},
		"NodeUp":         NodeUp{},
		"Refuse":         Refuse{},
		"Revoke":         Revoke{},
		"Run":            Run{},
		"SetNodes":       SetNodes{},
		"SetUpDone":      SetUpDone{},
		"Tick":           Tick{},
	}
}

// Begin creates the core.
func (r *Recorded) Begin(_ time.Time, config any) (err error) {
	r.Core, err = New(config.(Config))
	return err
}

// Step gives the core an input.
func (r *Recorded) Step(now time.Time, in any) (out []any) {
	for _, o := range r.Core.Step(now, in.(Input)) {
		out = append(out, o)
	}
	return out
}
