package core

import (
	"testing"

	"bproc/internal/coretest"
	"bproc/internal/recording"
)

func TestCoreIsPure(t *testing.T) { coretest.Pure(t) }

// TestTranscripts prints messages to the keeper, to the clients (by the number of their ghost) and
// to slaves (by the name of their session), a barrier that has moved, a link that is closed, and
// the warnings and errors of the log. The inputs are described in script_test.go.
func TestTranscripts(t *testing.T) {
	coretest.Transcripts(t, func(t *testing.T) func(string, []string) []string { return newScript(t).input })
}

// TestRecorded replays what the simulated cluster has found, as it printed it.
func TestRecorded(t *testing.T) {
	coretest.Recorded(t, func() recording.Machine { return new(Recorded) })
}

// TestInputsAreRecorded checks that each type of input can be in a recording.
func TestInputsAreRecorded(t *testing.T) { coretest.Complete(t, new(Recorded)) }
