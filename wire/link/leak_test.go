package link_test

import (
	"testing"

	"go.uber.org/goleak"

	"bproc/test/limit"
)

func TestMain(m *testing.M) {
	limit.Set()
	goleak.VerifyTestMain(m)
}
