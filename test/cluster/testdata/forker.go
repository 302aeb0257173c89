// Forker is a server that forks: it keeps a number of children, and starts another one for each
// that ends. SIGTERM does not end it; at SIGQUIT the Go runtime prints the stacks of all goroutines
// and exits.
//
//	forker CHILDREN
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		time.Sleep(200 * time.Millisecond) // a child
		return
	}
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	signal.Ignore(syscall.SIGTERM)
	ended := make(chan error)
	child := func() { ended <- exec.Command("/proc/self/exe").Run() }
	for range count {
		go child()
	}
	fmt.Println("ready")
	for n := 1; ; n++ {
		<-ended
		if n == count {
			fmt.Println("forks")
		}
		go child()
	}
}
