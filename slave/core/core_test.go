package core

import (
	"testing"

	"bproc/internal/coretest"
	"bproc/internal/recording"
)

func TestCoreIsPure(t *testing.T) { coretest.Pure(t) }

// TestTranscripts: what comes out are messages to the master, what init and the space are told,
// and what is logged as a warning or an error. What the inputs are, script_test.go says.
func TestTranscripts(t *testing.T) {
	coretest.Transcripts(t, func(t *testing.T) func(string, []string) []string { return newScript(t).input })
}

// TestRecorded: what the simulated cluster has found, as it printed it.
func TestRecorded(t *testing.T) {
	coretest.Recorded(t, func() recording.Machine { return new(Recorded) })
}

// TestInputsAreRecorded: each type of input can be in a recording.
func TestInputsAreRecorded(t *testing.T) { coretest.Complete(t, new(Recorded)) }
