package core

import "time"

// Recorded gives the inputs of a recording to a core of its own (recording.Machine).
type Recorded struct{ Core *Core }

// Types returns a value of each type of input, and the configuration.
func (*Recorded) Types() map[string]any {
	return map[string]any{
		"begin":            Config{},
		"Blocks":           Blocks{},
		"Call":             Call{},
		"CallLeft":         CallLeft{},
		"EndAll":           EndAll{},
		"Found":            Found{},
		"FoundLate":        FoundLate{},
		"FromMaster":       FromMaster{},
		"Heard":            Heard{},
		"JournalGrown":     JournalGrown{},
		"JournalRewritten": JournalRewritten{},
		"Launch":           Launch{},
		"News":             News{},
		"Reaped":           Reaped{},
		"Served":           Served{},
		"SessionLost":      SessionLost{},
		"SessionUp":        SessionUp{},
		"Signal":           Signal{},
		"Spawned":          Spawned{},
		"Told":             Told{},
		"Unasked":          Unasked{},
		"Wanted":           Wanted{},
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
