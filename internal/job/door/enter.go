package door

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The service never holds the descriptors of a user: when it forks, or ends, the kernel would close
// copies of them, and with a file system of the user's that may take for ever, even after SIGKILL
// (fuse_flush in the kernel). So the command takes them from the connection itself.
const (
	connectionVariable = "BPJOB_CONNECTION" // set: the command has the connection of a user
	connection         = descriptors        // its descriptor
)

// former are the standard files that Enter has replaced. Their end would close the descriptors.
var former [descriptors]*os.File

// Enter has a command that a [Server] has started take the user's standard descriptors, and then the
// user's signals for as long as it lives. The command calls it first. It reports whether the command
// may go on; if not, the user has been told why.
func Enter() bool {
	if os.Getenv(connectionVariable) == "" {
		return true
	}
	_ = os.Unsetenv(connectionVariable) // its name is valid
	f := os.NewFile(connection, "connection of a user")
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return false
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}
	if err := take(conn); err != nil {
		_ = send(conn, Answer{Error: err.Error()}) // the user may have gone
		return false
	}
	go obey(conn)
	return true
}

// take takes the descriptors of the request.
func take(conn *net.UnixConn) error {
	files, err := receive(conn, new(Request))
	if err == nil {
		err = check(files)
	}
	for i := 0; i < descriptors && err == nil; i++ {
		err = unix.Dup3(int(files[i].Fd()), i, 0)
	}
	if err != nil {
		return err // the end of the process closes the files
	}
	closeAll(files)
	former = [descriptors]*os.File{os.Stdin, os.Stdout, os.Stderr}
	os.Stdin, os.Stdout, os.Stderr = os.NewFile(0, former[0].Name()), os.NewFile(1, former[1].Name()), os.NewFile(2, former[2].Name())
	return nil
}

// passed lists the signals that a user can send to a command.
var passed = map[int]bool{
	int(unix.SIGHUP): true, int(unix.SIGINT): true, int(unix.SIGQUIT): true, int(unix.SIGTERM): true, int(unix.SIGWINCH): true,
}

// obey sends the user's signals to this process, and SIGTERM when the user, or the service, has gone.
func obey(conn *net.UnixConn) {
	for {
		var n int
		if err := receiveText(conn, &n); err != nil {
			_ = unix.Kill(os.Getpid(), unix.SIGTERM)
			return
		}
		if passed[n] {
			_ = unix.Kill(os.Getpid(), syscall.Signal(n))
		}
	}
}
