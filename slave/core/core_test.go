package core

import (
	"testing"

	"bproc/internal/coretest"
	"bproc/internal/recording"
)

func TestCoreIsPure(t *testing.T) { coretest.Pure(t) }

// TestTranscripts compares messages to the master, orders to init and the space, and warnings and
// errors of the log. script_test.go describes the inputs.
func TestTranscripts(t *testing.T) {
	coretest.Transcripts(t, func(t *testing.T) func(string, []string) []string { return newScript(t).input })
}

// TestRecorded replays what the simulated cluster has found, as it printed it.
func TestRecorded(t *testing.T) {
	coretest.Recorded(t, func() recording.Machine { return new(Recorded) })
}

// TestInputsAreRecorded: each type of input can be in a recording.
func TestInputsAreRecorded(t *testing.T) { coretest.Complete(t, new(Recorded)) }
