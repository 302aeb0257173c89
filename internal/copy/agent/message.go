package agent

// Version is the version of the messages. All programs of a cluster have the same.
const Version = 4

// Messages to an agent.
type (
	// Setup is the first message.
	Setup struct {
		Version     int
		ID          int   // of the agent in this copy
		Dir         Name  // the directory of relative paths; empty: the current one
		Send        *Send // nil if it does not send
		Receive     *Receive
		Certificate []byte
		Key         []byte
		Sender      []byte // key that seals the stream, if the agent sends; see [NewSeal]
		Receiver    []byte
		Address     string // to listen on; empty: do not listen
		Progress    bool   // send Total and Progress
	}
	// Send says what the agent reads.
	Send struct {
		Paths     Names
		Names     Names // of their copies
		Recursive bool
		Xattrs    bool
	}
	// Receive says where the agent writes, and what.
	Receive struct {
		Path      Name
		Names     Names // allowed names of copies
		Recursive bool  // copies may be other than regular files
		Many      bool
		Preserve  bool
	}
	// Connect names the agents to connect to.
	Connect struct{ Peers []Peer }
	// Peer is another agent.
	Peer struct {
		ID      int
		Address string // with port
	}
	// Start starts the stream.
	Start struct {
		From  int   // source of the stream: an agent, or one of the values below
		Links []int // agents to which it is passed by connections
		Feeds []int // agents to which it is passed in messages of the transfer
		Up    bool  // pass it to the transfer
		Ticks int   // number of ticks ([Tick]) after which a receiver that takes nothing is dropped; 0: never
	}
	// Drop says that an agent that sends or receives the stream is gone.
	Drop struct{ ID int }
)

// Values of Start.From other than the number of an agent.
const (
	FromSelf    = -1 // the agent itself makes the stream
	FromSession = -2 // the stream comes in messages of the transfer
)

// Messages of an agent.
type (
	// Ready answers Setup.
	Ready struct {
		Port   int    // listening port
		Failed string // why it does not take part; Port is not set then
		Path   string // subject of Failed
	}
	// Connected answers Connect.
	Connected struct{ Failed []int }
	// Total is the number of bytes to copy.
	Total struct{ Bytes int64 }
	// Progress is the number of bytes written so far.
	Progress struct{ Bytes int64 }
	// Problem describes a file that could not be copied.
	Problem struct{ Path, Text string }
	// Stalled says that an agent takes nothing of the stream and was dropped. An agent names itself
	// if its own target is stalled; it goes on passing the stream on.
	Stalled struct{ ID int }
	// Done is the last message.
	Done struct {
		Broken bool // the stream broke off
	}
)

// Messages in both directions.
type (
	// Data is a part of the stream.
	Data struct{ Bytes []byte }
	// DataEnd is the end of the stream.
	DataEnd struct{}
	// Taken acknowledges bytes of Data. ID is the receiver of these bytes: an agent, or
	// FromSession.
	Taken struct{ ID, Bytes int }
)
