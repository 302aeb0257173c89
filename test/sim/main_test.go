package sim_test

import (
	"flag"
	"os"
	"testing"

	"bproc/test/limit"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *seeds == 0 {
		os.Exit(m.Run()) // until it is stopped
	}
	os.Exit(limit.Tests(m))
}
