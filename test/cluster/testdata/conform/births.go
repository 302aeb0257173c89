// Births makes processes in the ways of a Go program: see conform.h for its output.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

func say(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }

func must(err error) {
	if err != nil {
		say("WRONG: %v", err)
		os.Exit(98)
	}
}

func check(what string, got, want int) {
	if got != want {
		say("%s {%d} WRONG, want {%d}", what, got, want)
	}
}

func report(what string) {
	sid, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	say("%s: I am {%d}, parent {%d}, group {%d}, session {%d}", what, os.Getpid(), os.Getppid(), syscall.Getpgrp(), sid)
}

// claim reports what the front end must show of this process.
func claim() {
	sid, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	comm, err := os.ReadFile("/proc/self/comm")
	must(err)
	uid, gid := os.Getuid(), os.Getgid()
	say("@proc %d %d %d %d %d %d %d %d %d %d S %s\n@args %d %s", os.Getpid(), os.Getppid(), syscall.Getpgrp(), sid,
		uid, uid, uid, gid, gid, gid, strings.TrimSpace(string(comm)), os.Getpid(), strings.Join(os.Args, "\x1f"))
}

func quiet() {
	say("@quiet")
	for b := make([]byte, 1); b[0] != '\n'; {
		_, err := os.Stdin.Read(b)
		must(err)
	}
}

// child returns a command that runs this program in a mode.
func child(mode, what string) *exec.Cmd {
	self, err := os.Executable()
	must(err)
	cmd := exec.Command(self, mode, what)
	cmd.Stdout = os.Stdout
	return cmd
}

func ended(cmd *exec.Cmd) {
	_ = cmd.Wait()
	say("{%d} ended: %v", cmd.Process.Pid, cmd.ProcessState)
}

// hold starts a child that claims itself and lives until its input ends.
func hold(what string, attr *syscall.SysProcAttr) (cmd *exec.Cmd, end func()) {
	cmd = child("--hold", what)
	cmd.SysProcAttr = attr
	in, err := cmd.StdinPipe()
	must(err)
	ready, w, err := os.Pipe()
	must(err)
	cmd.ExtraFiles = []*os.File{w}
	must(cmd.Start())
	w.Close()
	_, err = ready.Read(make([]byte, 1))
	must(err)
	ready.Close()
	return cmd, func() {
		in.Close()
		ended(cmd)
	}
}

func commands() {
	for _, attr := range []*syscall.SysProcAttr{
		{}, {Setpgid: true}, {Setsid: true}, {Pdeathsig: syscall.SIGKILL}, {Cloneflags: syscall.CLONE_VFORK},
	} {
		cmd, end := hold("held", attr)
		say("started {%d}", cmd.Process.Pid)
		if attr.Setpgid {
			pgid, err := syscall.Getpgid(cmd.Process.Pid)
			must(err)
			check("group", pgid, cmd.Process.Pid)
		}
		claim()
		quiet()
		end()
	}
	cmd := child("--report", "in a group")
	leader, end := hold("leader", &syscall.SysProcAttr{Setpgid: true})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: leader.Process.Pid}
	must(cmd.Start())
	ended(cmd)
	end()
	must(exec.Command("sh", "-c", "exit 0").Run())
	err := exec.Command("sh", "-c", "kill -9 $$").Run()
	say("killed: %v", err)
	err = exec.Command("/no/such/file").Run()
	say("nothing: %v", err)
}

// parallel starts commands from many goroutines, and so threads, at once.
func parallel() {
	var all sync.WaitGroup
	sum, mu := 0, sync.Mutex{}
	for i := range 40 {
		all.Add(1)
		go func() {
			defer all.Done()
			cmd := exec.Command("sh", "-c", "echo $$ $PPID; exit "+strconv.Itoa(i))
			out, _ := cmd.Output()
			var pid, ppid int
			_, err := fmt.Sscan(string(out), &pid, &ppid)
			must(err)
			check("number", pid, cmd.Process.Pid)
			check("parent", ppid, os.Getpid())
			mu.Lock()
			sum += cmd.ProcessState.ExitCode()
			mu.Unlock()
		}()
	}
	all.Wait()
	say("40 commands, sum of codes %d", sum)
}

func signals() {
	cmd, end := hold("signalled", &syscall.SysProcAttr{})
	must(cmd.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	must(err)
	say("{%d} stopped %v by %v", pid, status.Stopped(), status.StopSignal())
	must(cmd.Process.Signal(syscall.SIGCONT))
	end()
	cmd, _ = hold("killed", &syscall.SysProcAttr{})
	must(cmd.Process.Kill())
	ended(cmd)
	say("afterwards: %v", syscall.Kill(cmd.Process.Pid, 0))
}

func main() {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case "--report":
			report(os.Args[2])
		case "--hold":
			report(os.Args[2])
			claim()
			_, err := os.NewFile(3, "ready").Write([]byte{0})
			must(err)
			_, _ = os.Stdin.Read(make([]byte, 1))
		}
		return
	}
	report("program")
	commands()
	parallel()
	signals()
}
