package cluster_test

import (
	"strconv"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestOldKernel runs bproc with only the calls and flags of Linux 5.10.
func TestOldKernel(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2, OldKernel: true})
	const newer = "import ctypes; print(ctypes.CDLL(None, use_errno=True).syscall(441), ctypes.get_errno())"
	if got := ask(t, c.Front, cluster.Root, "python3", "-c", newer); got != "-1 38" { // epoll_pwait2(2), ENOSYS
		t.Fatalf("the kernel is not old: %s", got)
	}
	sh := newDialogue(t, c, cluster.Alice, "bpsh", "1", "sh")
	other := newDialogue(t, c, cluster.Alice, "bpsh", "0", "sh")
	if got := sh.ask("echo $(ls /proc/self/fd)"); got != "0 1 2 3" { // 3: the directory
		t.Errorf("descriptors of a remote process: got %s", got)
	}
	sh.ask("trap 'echo got it' USR1; echo set")
	if got := sh.ask("kill -USR1 $$"); got != "got it" {
		t.Errorf("a signal to itself: got %q", got)
	}
	for where, kill := range map[string]func(pid string){
		"on the front end": func(pid string) { ask(t, c.Front, cluster.Alice, "kill", pid) },
		"on another node":  func(pid string) { other.ask("kill " + pid + "; echo killed") },
		"on its own node":  func(pid string) { sh.ask("kill " + pid + "; echo killed") },
	} {
		child := sh.ask("sleep 1000 & echo $!")
		if pid, err := strconv.Atoi(child); err != nil || pid < 1<<20 {
			t.Fatalf("number of a child: %q", child)
		}
		kill(child)
		if got := sh.ask("wait $!; echo $?"); got != "143" { // SIGTERM
			t.Errorf("a child that is killed %s ends with %s", where, got)
		}
	}
	startView(t, c)
	if got := inView(t, c, cluster.Alice, "ps", "-o", "args=", "-p", sh.ask("echo $$")); strings.TrimSpace(got) != "sh" {
		t.Errorf("ps on the front end shows %q", got)
	}
	viewer := newDialogue(t, c, cluster.Alice, "bpsh", "--procfs", "0", "sh")
	if got := viewer.ask("ps -o args= -p " + sh.ask("echo $$")); got != "sh" {
		t.Errorf("ps on a node shows %q", got)
	}
}
