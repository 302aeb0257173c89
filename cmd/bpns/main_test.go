package main

import (
	"testing"

	"bproc/internal/manpage"
)

func TestManPage(t *testing.T) {
	manpage.CheckOptions(t, "../../man/bpns.1", usage)
}
