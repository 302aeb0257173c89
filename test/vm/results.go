package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// results has the results of all steps.
type results struct {
	passed int
	failed []string
}

// step runs a step and prints its line.
func (r *results) step(ctx context.Context, name string, do func(context.Context) error) error {
	begin := time.Now()
	err := do(ctx)
	verdict := "ok  "
	if err != nil {
		verdict = "FAIL"
		r.failed = append(r.failed, name)
	} else {
		r.passed++
	}
	fmt.Printf("%s %-40s %6.1f s\n", verdict, name, time.Since(begin).Seconds())
	if err != nil {
		fmt.Println("     " + strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "\n     "))
	}
	return err
}

// summary prints the last line, and returns an error if a step failed, or none was selected.
func (r *results) summary() error {
	fmt.Printf("%d passed, %d failed\n", r.passed, len(r.failed))
	switch {
	case len(r.failed) > 0:
		return errors.New("failed: " + strings.Join(r.failed, ", "))
	case r.passed == 0:
		return errors.New("no step has such a name")
	}
	return nil
}
