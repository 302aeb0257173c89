package scout

import (
	"os"
	"testing"

	"bproc/test/limit"
)

// programName is the scout's in tests.
const programName = "scout"

// endsName is the name of a program that ends at once.
const endsName = "ends"

func TestMain(m *testing.M) {
	if os.Args[0] == endsName {
		return
	}
	if os.Args[0] == programName {
		if err := Run(os.Args[1]); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(limit.Tests(m))
}
