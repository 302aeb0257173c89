package bproc_test

import (
	"testing"

	"bproc/internal/fakemaster"
)

func TestMain(m *testing.M) { fakemaster.Main(m) }
