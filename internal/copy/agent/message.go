package agent

// Version is that of the messages. Programs of one cluster have the same one.
const Version = 3

// The messages to an agent.
type (
	// Setup is the first.
	Setup struct {
		Version     int
		ID          int    // of the agent in this copy
		Dir         string // where relative paths begin; empty: here
		Send        *Send  // what it sends; nil: nothing
		Receive     *Receive
		Certificate []byte
		Key         []byte
		Sender      []byte // the key of the stream, if it sends, see [NewSeal]
		Receiver    []byte
		Address     string // where it listens; empty: it does not
		Progress    bool   // somebody wants to know
	}
	// Send is what the agent reads.
	Send struct {
		Paths     []string
		Names     []string // of their copies
		Recursive bool
		Xattrs    bool
	}
	// Receive is where the agent writes, and what.
	Receive struct {
		Path      string
		Names     []string // that copies may have
		Recursive bool     // copies may be other than regular files
		Many      bool
		Preserve  bool
	}
	// Connect says to whom the agent connects.
	Connect struct{ Peers []Peer }
	// Peer is another agent.
	Peer struct {
		ID      int
		Address string // with the port
	}
	// Start has the stream begin.
	Start struct {
		From  int   // the agent that it comes from, or one of those below
		Links []int // agents that it is passed on to by connections
		Feeds []int // agents that it is passed on to through the session
		Up    bool  // it is passed on to the session
		Ticks int   // after which something that takes nothing is dropped, see [Tick]; 0: none is
	}
	// Drop says that an agent is gone that the stream was passed on to, or came from.
	Drop struct{ ID int }
)

// Values of Start.From in place of the number of an agent.
const (
	FromSelf    = -1 // the agent sends what it reads
	FromSession = -2 // it comes in messages
)

// The messages of an agent.
type (
	// Ready answers Setup.
	Ready struct {
		Port   int    // where it listens
		Failed string // why it does not take part; the rest is not said then
		Path   string // that Failed is about
	}
	// Connected answers Connect.
	Connected struct{ Failed []int }
	// Total says how many bytes there are to copy.
	Total struct{ Bytes int64 }
	// Progress says how many bytes were written so far.
	Progress struct{ Bytes int64 }
	// Problem is what could not be copied.
	Problem struct{ Path, Text string }
	// Stalled says that an agent takes nothing of what is passed on to it, and was dropped. An agent
	// says it of itself if that is its target; it goes on passing the stream on.
	Stalled struct{ ID int }
	// Done is the last.
	Done struct {
		Broken bool // the stream broke off
	}
)

// Messages to both.
type (
	// Data is a part of the stream.
	Data struct{ Bytes []byte }
	// DataEnd is the end of the stream.
	DataEnd struct{}
	// Taken says how many bytes of Data are not under way any more. ID is who has taken them:
	// an agent, or FromSession.
	Taken struct{ ID, Bytes int }
)
