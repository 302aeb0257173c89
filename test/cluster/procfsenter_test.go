package cluster_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestProgramsStartInView starts programs in the view that a namespace, or another /proc, could
// break.
func TestProgramsStartInView(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 3)
	wantIdle(t, c)
	startView(t, c)
	r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "echo ready; exec sleep 1001")
	seen := fmt.Sprintf("grep BProcNode /proc/%d/status", r.ghost)
	cluster.Eventually(t, "the process is seen", func() error {
		if got := inView(t, c, cluster.Alice, "sh", "-c", seen+"; true"); got != "BProcNode:\t1\n" {
			return fmt.Errorf("got %q", got)
		}
		return nil
	})
	t.Run("set-uid", func(t *testing.T) {
		const dir = "/opt/setuid"
		ask(t, c.Front, cluster.Root, "sh", "-c", "mkdir -m 755 "+dir+" && cp /usr/bin/id /bin/cat "+dir+" && chmod 4755 "+dir+"/*")
		defer ask(t, c.Front, cluster.Root, "rm", "-r", dir)
		if got := inView(t, c, cluster.Alice, dir+"/id", "-u"); got != "0\n" {
			t.Errorf("user of a set-uid program: got %q", got)
		}
		status := inView(t, c, cluster.Alice, dir+"/cat", "/proc/self/status", fmt.Sprintf("/proc/%d/stack", r.ghost))
		if !strings.Contains(status, "Uid:\t12345\t0\t0\t0\n") || !strings.Contains(status, "[<0>]") {
			t.Errorf("what it reads as root: got %q", status)
		}
	})
	t.Run("daemon", func(t *testing.T) {
		const perl = `use POSIX; fork and exit; setsid(); fork and exit; chdir "/"; open STDIN, "/dev/null"; open STDOUT, ">/dev/fd/2"; ` +
			`select undef, undef, undef, 0.01 until getppid == 1; open P, ">/run/daemon.pid"; print P "$$\n"; close P; sleep 1000`
		inView(t, c, cluster.Root, "sh", "-c", `rm -f /run/daemon.pid; perl -e '`+perl+`' 2>/run/daemon.log; until [ -s /run/daemon.pid ]; do sleep 0.02; done`)
		text, err := c.Front.ReadFile("/run/daemon.pid")
		if err != nil {
			t.Fatal(err)
		}
		pid := strings.TrimSpace(string(text))
		if got := strings.Fields(inView(t, c, cluster.Root, "ps", "-o", "ppid=,tty=,comm=", "-p", pid)); len(got) != 3 || got[0] != "1" || got[1] != "?" || got[2] != "perl" {
			t.Errorf("the daemon %s: got %q", pid, got)
		}
		ask(t, c.Front, cluster.Root, "kill", pid)
	})
	t.Run("writes", func(t *testing.T) {
		const knob = "/proc/sys/kernel/domainname"
		before := ask(t, c.Front, cluster.Root, "cat", knob)
		inView(t, c, cluster.Root, "sh", "-c", "echo view >"+knob)
		if got := ask(t, c.Front, cluster.Root, "cat", knob); got != "view" {
			t.Errorf("%s: got %q", knob, got)
		}
		inView(t, c, cluster.Root, "sh", "-c", "echo '"+before+"' >"+knob)
		if got := inView(t, c, cluster.Alice, "sh", "-c", "echo 300 >/proc/self/oom_score_adj && cat /proc/self/oom_score_adj; printf x >/proc/self/comm; cat /proc/$$/comm"); got != "300\nx\n" {
			t.Errorf("/proc/self: got %q", got)
		}
		res, err := c.Front.Exec(t.Context(), cluster.Root, "bpns", "sh", "-c", fmt.Sprintf("echo 300 >/proc/%d/oom_score_adj", r.ghost))
		if err != nil || res.Code == 0 {
			t.Errorf("a write to a remote process's file: got %+v, %v", res, err)
		}
	})
	t.Run("systemd's BindPaths", func(t *testing.T) {
		got := ask(t, c.Front, cluster.Root, "unshare", "-m", "sh", "-c", "mount --rbind "+viewDir+" /proc && cat /proc/self/comm && "+seen)
		if got != "cat\nBProcNode:\t1" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("ssh", func(t *testing.T) { sshWorks(t, c, seen, "BProcNode:\t1\n") })
	r.kill(unix.SIGKILL)
}

// sshServer sets up an sshd, in a mount namespace in which the server runs, and then runs the
// commands that follow. SSH is a client.
const sshServer = `
set -e
mkdir -p -m 755 /run/sshd /run/ssh
cd /run/ssh
if ! grep -q ^sshd: /etc/passwd; then
	cp /etc/passwd passwd; echo 'sshd:x:107:65534::/run/sshd:/bin/false' >>passwd
	mount --bind passwd /etc/passwd
fi
[ -e key ] || ssh-keygen -q -t ed25519 -N '' -f key
cat >config <<E
ListenAddress 127.0.0.1
Port 2222
HostKey /run/ssh/key
AuthorizedKeysFile /run/ssh/key.pub
StrictModes no
UsePAM no
PidFile /run/ssh/pid
E
SSH="ssh -F /dev/null -q -i /run/ssh/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -p 2222 root@127.0.0.1"
await() { for i in $(seq 1000); do if "$@"; then return; fi; sleep 0.02; done; echo "not within 20 s: $*"; exit 1; }
started() { await test -s pid; }
gone() { ! kill -0 $server 2>/dev/null; }
stop() { server=$(cat pid); kill $server; await gone; } # it takes its file and its port with it
`

// sshWorks logs in to a server in the view, and to a server outside of it that puts every login
// into the view as bpns(1) describes.
func sshWorks(t *testing.T, c *cluster.Cluster, command, want string) {
	page, err := os.ReadFile("../../man/bpns.1")
	if err != nil {
		t.Fatal(err)
	}
	forced := regexp.MustCompile(`(?m)^ForceCommand bpns .*$`).FindString(string(page))
	if forced == "" {
		t.Fatal("no ForceCommand in bpns(1)")
	}
	forced = strings.Replace(forced, "bpns", cluster.Prefix+"/bin/bpns", 1)
	// Mount namespaces do not matter to the server, which ends with its last process.
	for name, script := range map[string]string{
		"in the view": sshServer + `
bpns /usr/sbin/sshd -f /run/ssh/config
started
bpns $SSH "$1"
stop`,
		"by ForceCommand": sshServer + `
echo '` + strings.ReplaceAll(forced, `'`, `'\''`) + `' >>config
/usr/sbin/sshd -f /run/ssh/config
started
$SSH "$1" >one
echo "$1" | $SSH >two
cmp one two
cat one
stop`,
	} {
		got := ask(t, c.Front, cluster.Root, "unshare", "-m", "bash", "-c", script, "bash", command)
		if got != strings.TrimSpace(want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
