package agent

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"sync"
)

// messages are the types of messages, by number.
var messages = []reflect.Type{
	1: reflect.TypeFor[Setup](), 2: reflect.TypeFor[Connect](), 3: reflect.TypeFor[Start](), 4: reflect.TypeFor[Drop](),
	5: reflect.TypeFor[Ready](), 6: reflect.TypeFor[Connected](), 7: reflect.TypeFor[Total](), 8: reflect.TypeFor[Progress](),
	9: reflect.TypeFor[Problem](), 10: reflect.TypeFor[Done](), 11: reflect.TypeFor[Data](), 12: reflect.TypeFor[DataEnd](),
	13: reflect.TypeFor[Taken](), 14: reflect.TypeFor[Stalled](),
}

var numbers = func() map[reflect.Type]byte {
	m := map[reflect.Type]byte{}
	for i, t := range messages {
		if t != nil {
			m[t] = byte(i)
		}
	}
	return m
}()

// maxMessage bounds a message. The longest is Setup, with all paths of a command line several times:
// at most 6 MiB (execve(2)), and in base64 a third more.
const maxMessage = 64 << 20

// Conn carries messages: a byte with the type, four bytes with the length, and the fields as JSON,
// or the bytes of Data. Send may be called concurrently, Receive by one goroutine.
type Conn struct {
	from *bufio.Reader

	mu sync.Mutex // held while a message is written
	to io.Writer
}

// NewConn returns a connection that reads and writes messages.
func NewConn(from io.Reader, to io.Writer) *Conn {
	return &Conn{from: bufio.NewReaderSize(from, 64<<10), to: to}
}

const headSize = 5

// Send sends a message.
func (c *Conn) Send(m any) error {
	data, isData := m.(Data)
	body := data.Bytes
	if !isData {
		var err error
		if body, err = json.Marshal(m); err != nil {
			return err
		}
	}
	number, known := numbers[reflect.TypeOf(m)]
	if !known || len(body) > maxMessage {
		return fmt.Errorf("a message %T of %d bytes cannot be sent", m, len(body))
	}
	head := make([]byte, headSize, headSize+len(body))
	head[0] = number
	binary.LittleEndian.PutUint32(head[1:], uint32(len(body)))
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.to.Write(append(head, body...))
	return err
}

// Receive returns the next message.
func (c *Conn) Receive() (any, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(c.from, head[:]); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(head[1:])
	if int(head[0]) >= len(messages) || messages[head[0]] == nil || length > maxMessage {
		return nil, fmt.Errorf("a message of type %d and %d bytes", head[0], length)
	}
	body, err := readBody(c.from, int(length))
	if err != nil {
		return nil, err
	}
	kind := messages[head[0]]
	if kind == reflect.TypeFor[Data]() {
		return Data{body}, nil
	}
	m := reflect.New(kind)
	if err := json.Unmarshal(body, m.Interface()); err != nil {
		return nil, fmt.Errorf("a message %s: %w", kind.Name(), err)
	}
	return m.Elem().Interface(), nil
}

// readBody reads length bytes. It allocates as bytes arrive, not by the announced length.
func readBody(from io.Reader, length int) ([]byte, error) {
	const step = 1 << 20
	var body []byte
	for length > 0 {
		n := min(length, step)
		part := make([]byte, n)
		if _, err := io.ReadFull(from, part); err != nil {
			return nil, err
		}
		if body == nil {
			body = part
		} else {
			body = append(body, part...)
		}
		length -= n
	}
	return body, nil
}
