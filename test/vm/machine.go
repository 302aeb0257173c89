package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bootLimit allows for translated machines on a busy host.
const bootLimit = 12 * time.Minute

// machine is a virtual machine with its own disk, which stays when it is switched off.
type machine struct {
	lab    *lab
	name   string // a second disk, or ""
	number int    // the last part of its address in the cluster's network
	extra  string // a second disk, or ""
	port   int    // of ssh, on loopback
	cmd    *exec.Cmd
	ended  chan struct{} // closed when qemu has exited

	shutdownAt string // the kernel's time before the last shutdown that was measured
}

func (m *machine) file(suffix string) string { return m.lab.dir + "/" + m.name + suffix }

// start switches the machine on and waits until it accepts commands.
func (m *machine) start(ctx context.Context) error {
	if _, err := os.Stat(m.file(".qcow2")); err != nil {
		if err := output(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-b", m.lab.image.base, "-F", "raw", m.file(".qcow2")); err != nil {
			return err
		}
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	m.port = port
	log, err := os.OpenFile(m.file(".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	m.cmd = exec.Command("nice", append([]string{"qemu-system-x86_64"}, m.arguments()...)...)
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL, Setpgid: true}
	if err := m.cmd.Start(); err != nil {
		m.cmd = nil
		return err
	}
	m.ended = make(chan struct{})
	go func() { _ = m.cmd.Wait(); close(m.ended) }()
	return m.awaitBoot(ctx)
}

func (m *machine) arguments() []string {
	boot := m.lab.image.dir + "/boot/" + m.lab.kernel
	line := fmt.Sprintf("console=ttyS0 mitigations=off quiet panic=-1 net.ifnames=0 vm.address=10.9.0.%d systemd.hostname=%s", m.number, m.name)
	if m.lab.image.translated() {
		// The kernel's test of the timer counts its ticks, and panics where a busy host translates too slowly.
		line += " no_timer_check"
	}
	if m.lab.cgroup == "hybrid" {
		line += " systemd.unified_cgroup_hierarchy=0"
	}
	args := append([]string{
		"-name", m.name, "-smp", "1", "-m", "2G", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-chardev", "file,id=console,append=on,path=" + m.file(".console"), "-serial", "chardev:console",
		"-kernel", boot + "/vmlinuz", "-initrd", boot + "/initrd", "-append", line,
		"-drive", "if=virtio,cache=unsafe,file=" + m.file(".qcow2"),
		"-netdev", fmt.Sprintf("user,id=in,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", m.port),
		"-device", fmt.Sprintf("virtio-net-pci,netdev=in,romfile=,mac=52:54:00:00:01:%02x", m.number),
		"-netdev", "stream,id=net,server=off,addr.type=unix,addr.path=" + m.lab.dir + "/net",
		"-device", fmt.Sprintf("virtio-net-pci,netdev=net,romfile=,mac=52:54:00:00:02:%02x", m.number),
		"-device", "virtio-rng-pci",
	}, m.lab.image.accel...)
	if m.extra != "" {
		args = append(args, "-drive", "if=virtio,cache=unsafe,format=raw,file="+m.extra)
	}
	return args
}

// awaitBoot waits until ssh works, and until systemd has started everything.
func (m *machine) awaitBoot(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	for {
		out, err := m.run(ctx, "systemctl is-system-running --wait")
		if state := strings.TrimSpace(out); state == "running" || state == "degraded" {
			return nil
		}
		select {
		case <-m.ended:
			return fmt.Errorf("%s ended before it was up; console: %s", m.name, m.console())
		case <-ctx.Done():
			return fmt.Errorf("%s is not up: %w; console: %s", m.name, errors.Join(context.Cause(ctx), err), m.console())
		case <-time.After(time.Second):
		}
	}
}

// running reports whether the machine was started and its qemu has not ended.
func (m *machine) running() bool {
	if m.cmd == nil {
		return false
	}
	select {
	case <-m.ended:
		return false
	default:
		return true
	}
}

// console returns the last output of the machine, and of qemu.
func (m *machine) console() string {
	var all strings.Builder
	for _, suffix := range []string{".console", ".log"} {
		text, _ := os.ReadFile(m.file(suffix))
		all.Write(text[max(0, len(text)-2000):])
	}
	return all.String()
}

// ssh returns a command that runs in the machine. Connections share one that the first command
// makes.
func (m *machine) ssh(ctx context.Context, script string) *exec.Cmd {
	return exec.CommandContext(ctx, "ssh", "-q", "-i", m.lab.image.dir+"/key", "-p", fmt.Sprint(m.port),
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=90",
		"-o", "ControlMaster=auto", "-o", "ControlPersist=yes", "-o", "ControlPath="+m.file(".ssh"),
		"root@127.0.0.1", script)
}

// run runs a sh script and returns its output; an error contains the output, too.
func (m *machine) run(ctx context.Context, script string) (string, error) {
	return m.runWith(ctx, script, nil)
}

func (m *machine) runWith(ctx context.Context, script string, input []byte) (string, error) {
	return m.runTo(ctx, script, input, io.Discard)
}

// runTo is runWith that also writes the script's output to a log as it comes.
func (m *machine) runTo(ctx context.Context, script string, input []byte, log io.Writer) (string, error) {
	var out bytes.Buffer
	cmd := m.ssh(ctx, script)
	cmd.Stdin = bytes.NewReader(input)
	both := io.MultiWriter(&out, log)
	cmd.Stdout, cmd.Stderr = both, both
	cmd.WaitDelay = time.Second // the shared connection keeps the pipes open
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%s: %s: %w\n%s", m.name, script, err, tail(out.String()))
	}
	return out.String(), err
}

// powerOff ends the machine without notice to its kernel.
func (m *machine) powerOff() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill()
	<-m.ended
	m.disconnect()
	m.cmd = nil
}

func (m *machine) disconnect() {
	_ = exec.Command("ssh", "-q", "-o", "ControlPath="+m.file(".ssh"), "-O", "exit", "127.0.0.1").Run()
	_ = os.Remove(m.file(".ssh"))
}

// shutdown powers off or reboots the machine, and returns how long that took; the machine is off
// then.
func (m *machine) shutdown(ctx context.Context, verb string) (time.Duration, error) {
	begin := time.Now()
	_, _ = m.run(ctx, "systemctl --no-block "+verb) // the connection may end before the answer
	select {
	case <-m.ended:
	case <-ctx.Done():
		return 0, fmt.Errorf("%s does not %s: %w; console: %s", m.name, verb, context.Cause(ctx), m.console())
	}
	took := time.Since(begin)
	m.powerOff()
	return took, nil
}

// tail returns the end of an output.
func tail(s string) string {
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-6000):]
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// output runs a command on the host; an error contains its output.
func output(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, tail(string(out)))
	}
	return nil
}
