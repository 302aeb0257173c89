package sim_test

import (
	"os"
	"testing"

	"bproc/test/limit"
)

func TestMain(m *testing.M) { os.Exit(limit.Tests(m)) }
