package wire

// Power makes a node reboot, halt, or switch itself off. Its processes have ended, as far as the
// master knows.
type Power struct {
	_msgpack struct{} `msgpack:",as_array"`

	Action string // "reboot", "halt" or "pwroff"
}

// Type implements [Message].
func (*Power) Type() Type { return TypePower }

// Powered answers Power, if the node still runs then.
type Powered struct {
	_msgpack struct{} `msgpack:",as_array"`

	Action string
	Text   string // why it failed; empty: it is in progress
}

// Type implements [Message].
func (*Powered) Type() Type { return TypePowered }

// PowerOn makes the front end's command switch a node on.
type PowerOn struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID
}

// Type implements [Message].
func (*PowerOn) Type() Type { return TypePowerOn }

// ReadLog asks for the log of a node's set-up.
type ReadLog struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID
	Follow  bool // also send what is added to it, until the client leaves
}

// Type implements [Message].
func (*ReadLog) Type() Type { return TypeReadLog }

// LogText is a piece of a log.
type LogText struct {
	_msgpack struct{} `msgpack:",as_array"`

	Text []byte
}

// Type implements [Message].
func (*LogText) Type() Type { return TypeLogText }

// Reload makes the master read its configuration again.
type Reload struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
}

// Type implements [Message].
func (*Reload) Type() Type { return TypeReload }

// Reloaded lists the changes, one line each.
type Reloaded struct {
	_msgpack struct{} `msgpack:",as_array"`

	Changes []string
}

// Type implements [Message].
func (*Reloaded) Type() Type { return TypeReloaded }
