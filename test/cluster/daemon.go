package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
)

// readyTimeout is how long a daemon may take to report that it is ready.
var readyTimeout = limit.Scaled(2 * time.Minute)

// stopTimeout is how long a daemon may take to end on request.
const stopTimeout = 90 * time.Second

// killTimeout is how long the kernel may take to end a killed process.
const killTimeout = time.Minute

// Daemon is a running daemon of a machine. Its standard error goes to a log that is shown when the
// test fails.
type Daemon struct {
	Name string

	machine *Machine
	cmd     *Cmd
	done    chan struct{} // closed when it has ended
	err     error         // of its end; may be read after done
}

// StartDaemon starts a daemon. With ready set it returns when the daemon has sent READY=1
// (sd_notify(3)). If the daemon ends before, the error has its last output.
func (m *Machine) StartDaemon(ctx context.Context, ready bool, argv ...string) (*Daemon, error) {
	name := filepath.Base(argv[0])
	log, err := os.OpenFile(filepath.Join(m.logDir(), name+".log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	start, err := log.Seek(0, 2)
	if err != nil {
		return nil, err
	}
	// Not ctx: the daemon outlives the call that starts it, and ends with its machine.
	d := &Daemon{Name: name, machine: m, done: make(chan struct{})}
	d.cmd = m.Command(context.WithoutCancel(ctx), Root, argv...)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	notify, err := listenNotify(m.dir)
	if err != nil {
		return nil, err
	}
	defer notify.close()
	d.cmd.Env = append(d.cmd.Env, "NOTIFY_SOCKET="+notify.path)
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		d.err = d.cmd.Wait()
		close(d.done)
	}()
	m.mu.Lock()
	m.daemons = append(m.daemons, d)
	m.mu.Unlock()
	if !ready {
		return d, nil
	}
	if err := notify.wait(ctx, d.done); err != nil {
		words, _ := os.ReadFile(log.Name())
		return nil, errors.Join(fmt.Errorf("%s on %s: %w: %s", name, m.Name, err, bytes.TrimSpace(words[min(int(start), len(words)):])), d.Signal(unix.SIGKILL))
	}
	return d, nil
}

// Signal sends the daemon a signal. It is not an error if the daemon has ended.
func (d *Daemon) Signal(sig unix.Signal) error {
	err := d.cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Kill ends the daemon by SIGKILL and waits for it.
func (d *Daemon) Kill() error {
	if err := d.Signal(unix.SIGKILL); err != nil {
		return err
	}
	return d.AwaitEnd()
}

// AwaitEnd waits for the end of a daemon that was killed, or ends by itself.
func (d *Daemon) AwaitEnd() error {
	return within(limit.Scaled(killTimeout), fmt.Sprintf("%s on %s: end", d.Name, d.machine.Name), func() error {
		<-d.done
		return nil
	})
}

// Stop asks the daemon to end, and waits until it has. It must end with status 0.
func (d *Daemon) Stop(ctx context.Context) error {
	timeout := limit.Scaled(stopTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %v", timeout))
	defer cancel()
	if err := d.Signal(unix.SIGTERM); err != nil {
		return err
	}
	select {
	case <-d.done:
		if d.err != nil {
			return fmt.Errorf("%s on %s: stop: %w", d.Name, d.machine.Name, d.err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s on %s: stop: %w", d.Name, d.machine.Name, context.Cause(ctx))
	}
}

// Done is closed when the daemon has ended.
func (d *Daemon) Done() <-chan struct{} { return d.done }

// PID returns the daemon's process number in its machine.
func (d *Daemon) PID() (int, error) { return d.cmd.PID() }

// notifySocket receives a daemon's notifications (sd_notify(3)).
type notifySocket struct {
	path string
	conn *net.UnixConn
}

func listenNotify(dir string) (*notifySocket, error) {
	d, err := os.MkdirTemp(dir, "notify")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(d, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(d))
	}
	return &notifySocket{path: path, conn: conn}, nil
}

// wait waits for READY=1, for the end of the daemon, of ctx, or of patience.
func (n *notifySocket) wait(ctx context.Context, done <-chan struct{}) error {
	ready := make(chan error, 1)
	if err := n.conn.SetReadDeadline(time.Now().Add(readyTimeout)); err != nil {
		return err
	}
	go func() {
		b := make([]byte, 4096)
		for {
			k, err := n.conn.Read(b)
			if err != nil || bytes.Contains(b[:k], []byte("READY=1")) {
				ready <- err
				return
			}
		}
	}()
	select {
	case err := <-ready:
		if err != nil {
			return fmt.Errorf("not ready: %w", err)
		}
		return nil
	case <-done:
		return errors.New("ended before it was ready")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (n *notifySocket) close() {
	n.conn.Close()
	_ = os.RemoveAll(filepath.Dir(n.path)) // the janitor removes the directory around it
}
