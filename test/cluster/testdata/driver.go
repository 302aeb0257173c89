// Driver starts bprsh as a launcher does, COUNT times with WIDTH concurrently, and checks the
// results:
//
//	driver hydra|parallel|xargs COUNT WIDTH SEED NODE...
//
//	hydra     agents in sessions of their own, with pipes; input stays open until the driver ends
//	parallel  agents in groups of their own, output to files; SIGTERM to the driver ends them
//	xargs     agents in the driver's group, no input
//
// Of the commands some exit, some die of a signal, some are killed by their number on the front
// end, and some lose their agent. The driver prints a line "ok" for each launch that went as it
// should, and one that begins with "bad" for any other.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A launch ends long before, however busy the machine is.
const patience = 5 * time.Minute

type end int

const (
	exits end = iota
	dies
	isKilled      // by its number here
	losesAgent    // by SIGKILL
	endsWithAgent // by SIGTERM
)

var ends = []string{"exits", "dies", "is killed", "loses its agent", "ends with its agent"}

// launch is one start of bprsh.
type launch struct {
	style  string
	id     int
	node   string
	end    end
	number int           // exit code or signal
	delay  time.Duration // of the agent's end; negative: when the command has printed a line
	cmd    *exec.Cmd
	output *os.File // a file
	stdin  *os.File // nil: none
}

func plan(style string, id int, node string, r *rand.Rand) *launch {
	l := &launch{style: style, id: id, node: node, delay: -1}
	switch n := r.IntN(100); {
	case n < 60:
		l.number = r.IntN(256)
	case n < 75:
		l.end, l.number = dies, []int{1, 2, 9, 14, 15}[r.IntN(5)]
	case n < 85:
		l.end = isKilled
	case n < 93:
		l.end = losesAgent
	default:
		l.end = endsWithAgent
	}
	if r.IntN(2) == 0 {
		l.delay = time.Duration(r.IntN(20)) * time.Millisecond
	}
	return l
}

// command returns the shell line. A command that does not end by itself ends with the driver, in
// the way of its style.
func (l *launch) command() string {
	line := fmt.Sprintf("echo %d $$; ", l.id)
	switch {
	case l.end == exits:
		return line + fmt.Sprintf("exit %d", l.number)
	case l.end == dies:
		return line + fmt.Sprintf("kill -%d $$", l.number)
	case l.style == "hydra":
		return line + "exec cat"
	}
	return line + "exec sleep 1000"
}

// start starts the agent.
func (l *launch) start() (err error) {
	if l.output, err = os.CreateTemp("", "driver"); err != nil {
		return err
	}
	if err := os.Remove(l.output.Name()); err != nil {
		return err
	}
	args := []string{l.node, l.command()}
	attr := new(syscall.SysProcAttr)
	switch l.style {
	case "hydra":
		args, attr.Setsid = append([]string{"-x"}, args...), true
	case "parallel":
		args, attr.Setpgid = []string{l.node, "--", "exec", "sh", "-c", "'" + l.command() + "'"}, true
	case "xargs":
		args = append([]string{"-n"}, args...)
	}
	l.cmd = exec.Command("bprsh", args...)
	l.cmd.SysProcAttr = attr
	l.cmd.Stdout, l.cmd.Stderr = l.output, l.output
	if l.style == "hydra" {
		theirs, ours, err := os.Pipe()
		if err != nil {
			return err
		}
		defer theirs.Close()
		l.cmd.Stdin, l.stdin = theirs, ours
	}
	return l.cmd.Start()
}

// said returns the output of the command.
func (l *launch) said() string {
	text := make([]byte, 1000)
	n, _ := l.output.ReadAt(text, 0)
	return string(text[:n])
}

// pid returns the number that the command has printed; 0 if it has printed none until ended is
// closed.
func (l *launch) pid(ended <-chan struct{}) int {
	for {
		var id, pid int
		if text := l.said(); strings.Contains(text, "\n") {
			if n, _ := fmt.Sscanf(text, "%d %d\n", &id, &pid); n == 2 {
				return pid
			}
			return 0
		}
		select {
		case <-ended:
			return 0
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// disturb ends a command that does not end by itself, or its agent.
func (l *launch) disturb(ended <-chan struct{}) {
	if l.end == exits || l.end == dies {
		return
	}
	if l.end == isKilled || l.delay < 0 {
		pid := l.pid(ended)
		if l.end == isKilled && pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	} else {
		time.Sleep(l.delay)
	}
	switch agent := l.cmd.Process.Pid; {
	case l.end == losesAgent:
		_ = syscall.Kill(agent, syscall.SIGKILL)
	case l.end == endsWithAgent && l.style == "parallel":
		for range 3 {
			_ = syscall.Kill(-agent, syscall.SIGTERM)
			time.Sleep(time.Millisecond)
		}
	case l.end == endsWithAgent:
		_ = syscall.Kill(agent, syscall.SIGTERM)
	}
}

// run makes the launch and returns an error if it went wrong.
func (l *launch) run(d *driver) error {
	d.starts.RLock()
	err := l.start()
	if err == nil {
		d.agents.Store(l.cmd.Process.Pid, true)
	}
	d.starts.RUnlock()
	if err != nil {
		return err
	}
	defer l.output.Close()
	ended, disturbed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(disturbed)
		l.disturb(ended)
	}()
	late := time.AfterFunc(patience, func() {
		fmt.Printf("bad %d: has not ended: %s\n", l.id, l.cmd.Args)
		_ = l.cmd.Process.Kill()
	})
	_ = l.cmd.Wait() // the state has the result
	late.Stop()
	d.agents.Delete(l.cmd.Process.Pid)
	close(ended)
	<-disturbed
	if l.stdin != nil {
		l.stdin.Close()
	}
	return l.check(l.cmd.ProcessState.Sys().(syscall.WaitStatus))
}

// check compares the end with the expected one.
func (l *launch) check(status syscall.WaitStatus) error {
	code := -1
	if status.Exited() {
		code = status.ExitStatus()
	}
	right := false
	switch l.end {
	case exits:
		right = code == l.number
	case dies:
		right = code == 128+l.number
	case isKilled:
		right = code == 137
	case losesAgent:
		right = status.Signal() == syscall.SIGKILL
	case endsWithAgent:
		right = status.Signal() == syscall.SIGTERM || code == 143
	}
	var id, pid int
	text := l.said()
	n, _ := fmt.Sscanf(text, "%d %d\n", &id, &pid)
	spoke := n == 2 && id == l.id && text == fmt.Sprintf("%d %d\n", id, pid)
	if text == "" && (l.end == losesAgent || l.end == endsWithAgent) {
		spoke = l.delay >= 0
	}
	if !right || !spoke {
		return fmt.Errorf("%s (%d): status %#x, output %q", ends[l.end], l.number, uint32(status), text)
	}
	return nil
}

// driver has the agents that run.
type driver struct {
	starts sync.RWMutex // write-locked when no more may start
	agents sync.Map     // by number
	ending atomic.Bool  // the fate of agents does not matter any more
}

// endAll ends all agents as GNU parallel does, and the driver.
func (d *driver) endAll() {
	d.starts.Lock()
	d.ending.Store(true)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM, syscall.SIGKILL} {
		d.agents.Range(func(pid, _ any) bool {
			_ = syscall.Kill(-pid.(int), sig)
			return true
		})
		time.Sleep(100 * time.Millisecond)
	}
	os.Exit(1)
}

func main() {
	style := os.Args[1]
	var numbers [3]int // count, width, seed
	for i := range numbers {
		n, err := strconv.Atoi(os.Args[2+i])
		if err != nil {
			fmt.Println("bad arguments:", err)
			os.Exit(2)
		}
		numbers[i] = n
	}
	nodes := os.Args[5:]
	r := rand.New(rand.NewPCG(uint64(numbers[2]), 0))
	d := new(driver)
	if style == "parallel" {
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, syscall.SIGTERM)
		go func() {
			<-caught
			d.endAll()
		}()
	}
	free := make(chan struct{}, numbers[1])
	var all sync.WaitGroup
	for id := range numbers[0] {
		l := plan(style, id, nodes[r.IntN(len(nodes))], r)
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			err := l.run(d)
			switch {
			case d.ending.Load():
			case err != nil:
				fmt.Printf("bad %d: %v\n", l.id, err)
			default:
				fmt.Println("ok")
			}
		})
	}
	all.Wait()
}
