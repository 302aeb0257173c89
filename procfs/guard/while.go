package guard

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// died is the signal that the guard gets when the thread that has started it is dead.
const died = unix.SIGUSR1

// answerTime bounds the guard's answers. The guard waits for nothing.
const answerTime = 20 * time.Second

// Guard is the guard process of this process.
type Guard struct {
	cmd *exec.Cmd
	in  *os.File // receives the mount points
	out *os.File // one byte when it is ready, and one for each mount point
}

// While runs serve while a guard watches this process. Argv is the guard's: it runs this program,
// which must then call [Run].
func While(argv []string, serve func(*Guard) error) error {
	// The guard gets a signal when this thread dies, so nothing else may run on it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g, err := start(argv)
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	served := make(chan error, 1)
	go func() { served <- serve(g) }()
	return errors.Join(<-served, g.dismiss())
}

func start(argv []string) (*Guard, error) {
	in, told, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	answers, out, err := os.Pipe()
	if err != nil {
		told.Close()
		return nil, err
	}
	defer out.Close()
	g := &Guard{in: told, out: answers, cmd: &exec.Cmd{
		Path: "/proc/self/exe", Args: argv, Dir: "/", Stdin: in, Stdout: out, Stderr: os.Stderr,
		SysProcAttr: &unix.SysProcAttr{Pdeathsig: died},
	}}
	if err := g.cmd.Start(); err != nil {
		return nil, errors.Join(err, g.close())
	}
	if err := g.answer(); err != nil { // until then the signal would end it
		_ = g.cmd.Process.Kill() // it may have ended
		return nil, errors.Join(err, g.dismiss())
	}
	return g, nil
}

// Watch gives the guard the mount point of a file system. Before that no process should wait for
// the file system.
func (g *Guard) Watch(mountpoint string) error {
	if _, err := g.in.WriteString(mountpoint + "\x00"); err != nil {
		return fmt.Errorf("guard of %s: %w", mountpoint, err)
	}
	if err := g.answer(); err != nil {
		return fmt.Errorf("guard of %s: %w", mountpoint, err)
	}
	return nil
}

// answer waits for a byte of the guard.
func (g *Guard) answer() error {
	if err := g.out.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	_, err := g.out.Read(make([]byte, 1))
	return err
}

// dismiss ends the guard, and waits for its end.
func (g *Guard) dismiss() error {
	err := g.close()
	_ = g.cmd.Wait() // its status does not matter: there is nothing to guard any more
	return err
}

func (g *Guard) close() error { return errors.Join(g.in.Close(), g.out.Close()) }
