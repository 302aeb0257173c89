package ghost

import (
	"bufio"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/peer"
	"bproc/internal/quietsock"
	"bproc/wire"
)

// Client is the master's end of a connection to a keeper.
type Client struct {
	conn   *quietsock.Conn
	reader *wire.Reader
	list   wire.GhostList
}

// Dial connects to a keeper.
func Dial(socket string) (*Client, error) {
	dialed, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	conn, err := quietsock.New(dialed.(*net.UnixConn))
	if err != nil {
		return nil, fmt.Errorf("keeper at %s: %w", socket, err)
	}
	c := &Client{conn: conn, reader: wire.NewReader(bufio.NewReaderSize(conn, 64<<10))}
	if err := c.greet(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("keeper at %s: %w", socket, err)
	}
	return c, nil
}

// greetTime is how long a keeper may take to answer. It may first have to carry out the requests of
// a former master.
const greetTime = 15 * time.Second

func (c *Client) greet() error {
	if err := c.conn.SetReadDeadline(time.Now().Add(greetTime)); err != nil {
		return err
	}
	defer c.conn.SetReadDeadline(time.Time{})
	if err := wire.Write(c.conn, 0, &wire.GhostHello{Version: wire.Version}); err != nil {
		return err
	}
	for {
		m, _, err := c.reader.Read()
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *wire.GhostList:
			if c.add(m); !m.More {
				return nil
			}
		case *wire.Refused:
			return fmt.Errorf("%s", m.Reason)
		default:
			return fmt.Errorf("%w: type %d answers a greeting", wire.ErrFrame, m.Type())
		}
	}
}

// add takes in one part of the keeper's list.
func (c *Client) add(m *wire.GhostList) {
	l := &c.list
	l.Held, l.Killed = append(l.Held, m.Held...), append(l.Killed, m.Killed...)
	l.Stopped, l.Adopted = append(l.Stopped, m.Stopped...), append(l.Adopted, m.Adopted...)
	l.Boot = m.Boot
}

// Held returns the ghosts that the keeper held when the connection was made.
func (c *Client) Held() []wire.PID { return c.list.Held }

// Killed returns the held ghosts that have got SIGKILL and are held in their exit.
func (c *Client) Killed() []wire.PID { return c.list.Killed }

// Stopped returns the held ghosts that are stopped.
func (c *Client) Stopped() []wire.PID { return c.list.Stopped }

// Adopted returns how the held ghosts were adopted, at least those of clients.
func (c *Client) Adopted() []wire.Adopted { return c.list.Adopted }

// Boot returns the number of this boot of the front end.
func (c *Client) Boot() uint64 { return c.list.Boot }

// Write sends frames: requests of package wire whose names begin with Ghost.
func (c *Client) Write(frames []byte) (int, error) { return c.conn.Write(frames) }

// TryWrite sends as much of frames as there is room for, and returns that number of bytes. An error
// appears at the next Write.
func (c *Client) TryWrite(frames []byte) int { return c.conn.TryWrite(frames) }

// Recv returns the keeper's next message: GhostDone with the number of the
// request that it answers, GhostSignal or GhostGone.
func (c *Client) Recv() (wire.Message, uint64, error) { return c.reader.Read() }

// EndSoon ends the connection when everything that the keeper has said is read: at its end, or after
// some seconds, if the keeper lives and takes nothing.
func (c *Client) EndSoon() { _ = c.conn.SetReadDeadline(time.Now().Add(handover)) } // fails only if it is closed

// Close closes the connection. The keeper continues to run.
func (c *Client) Close() error { return c.conn.Close() }

// End ends the keeper, and with it the ghosts that it holds in their exit.
func (c *Client) End() error {
	who, err := peer.Of(c.conn)
	if err != nil {
		return fmt.Errorf("end the keeper: %w", err)
	}
	return unix.Kill(int(who.Pid), unix.SIGTERM)
}
