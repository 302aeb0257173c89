// Bpjail executes a process of a job in isolation. bpjob(1) starts it on nodes.
package main

import (
	"context"
	"os"
	"runtime"

	"bproc/internal/job/jail"
)

func init() { runtime.LockOSThread() } // main runs on the main thread

func main() { os.Exit(jail.Main(context.Background(), os.Args)) }
