package wire

// Type is the type of a frame's payload. The numbers are part of the protocol: they are never
// reused, and pinned by a test.
type Type uint16

// Types of frames. The comments name sender and receiver, and the answer.
const (
	// Opening of a connection between master and slave (see wire/link).
	TypeHello         Type = 1 // slave > master, answered by Welcome or Refused
	TypeWelcome       Type = 2 // master > slave
	TypeRefused       Type = 3 // master > slave or client, keeper > master: the connection ends
	TypeJoinRequest   Type = 4 // slave > master, answered by JoinReply or Refused
	TypeJoinReply     Type = 5 // master > slave
	TypeAbout         Type = 6 // master > any client of the network: the only frame of a connection
	TypeBypassHello   Type = 7 // slave > master, answered by BypassWelcome or Refused
	TypeBypassWelcome Type = 8 // master > slave: the connection is the client's from here on

	// The connection or stream of one process.
	TypeRun     Type = 20 // client > master, answered by Started or Failed
	TypeSpawn   Type = 21 // master > slave: first frame of a process stream
	TypeStarted Type = 22 // master > client
	TypeFailed  Type = 23 // master > client
	TypeStdin   Type = 24 // client > master > slave: plain bytes; empty: end of file
	TypeStdout  Type = 25 // slave > master > client: plain bytes; empty: end of file
	TypeStderr  Type = 26 // slave > master > client: plain bytes; empty: end of file

	TypeAttach      Type = 27 // client > master, answered by Started or Failed
	TypeResume      Type = 28 // master > slave: first frame of a process stream, answered by Resumed
	TypeResumed     Type = 29 // slave > master
	TypeStdinTaken  Type = 30 // slave > master > client: empty; number: bytes of standard input taken so far
	TypeStdoutTaken Type = 31 // client > master > slave: empty; number: bytes of standard output taken so far
	TypeStderrTaken Type = 32 // client > master > slave: empty; number: bytes of standard error taken so far
	TypeResize      Type = 33 // client > master > slave: empty; number: the size of the terminal, see Size
	TypeEnded       Type = 34 // master > client
	TypeEffective   Type = 35 // slave > master > client: empty; number: of an event that has had its effect
	TypeBypass      Type = 36 // client > master, answered by Bypassed, with a descriptor, or Failed
	TypeBypassed    Type = 37 // master > client
	TypeOpenBypass  Type = 38 // master > slave: first frame of a stream, answered by Resumed

	// The control stream of a node.
	TypeSignal         Type = 40 // master > slave
	TypeBlocksGranted  Type = 41 // master > slave
	TypeReparent       Type = 42 // master > slave
	TypeKillAll        Type = 43 // master > slave
	TypeHangUp         Type = 44 // master > slave
	TypeReturn         Type = 45 // master > slave
	TypeProgress       Type = 46 // master > slave
	TypeBudget         Type = 47 // master > slave
	TypeRenew          Type = 48 // master > slave
	TypeRenewReply     Type = 49 // master > slave
	TypePower          Type = 50 // master > slave, answered by Powered
	TypeNames          Type = 51 // master > slave, and > client
	TypeEvents         Type = 60 // slave > master
	TypeBlocksWanted   Type = 61 // slave > master
	TypeInventory      Type = 62 // slave > master: first message of a new control stream
	TypeCall           Type = 63 // slave > master, answered by Return
	TypeBlocksReturned Type = 64 // slave > master

	TypeSignalsTaken Type = 65 // slave > master
	TypeLeaving      Type = 66 // slave > master
	TypeBounded      Type = 67 // slave > master
	TypeRenewRequest Type = 68 // slave > master, answered by RenewReply
	TypePowered      Type = 69 // slave > master

	// Requests of a client to the master, one for each connection.
	TypeListNodes Type = 80 // client > master, answered by NodeList
	TypeNodeList  Type = 81 // master > client
	TypeEnroll    Type = 82 // client > master, answered by Token or Failed
	TypeToken     Type = 83 // master > client
	TypeDone      Type = 85 // master > client
	TypeListProcs Type = 86 // client > master, answered by ProcList
	TypeProcList  Type = 87 // master > client
	TypeBirths    Type = 88 // client > master, answered by Born or Failed
	TypeBorn      Type = 89 // master > client
	TypeRevoke    Type = 90 // client > master, answered by Done or Failed
	TypePowerOn   Type = 91 // client > master, answered by Done or Failed
	TypeReadLog   Type = 92 // client > master, answered by LogText, any number of them, and Done, or Failed
	TypeLogText   Type = 93 // master > client
	TypeReload    Type = 94 // client > master, answered by Reloaded or Failed
	TypeReloaded  Type = 95 // master > client

	TypeAwaitNames Type = 96 // client > master, answered by Names or Failed

	TypeListNumbers Type = 98 // client > master, answered by NumberList
	TypeNumberList  Type = 99 // master > client

	// Master and keeper.
	TypeGhostHello  Type = 100 // master > keeper, answered by GhostList
	TypeGhostList   Type = 101 // keeper > master
	TypeGhostAdopt  Type = 102 // master > keeper, answered by GhostDone
	TypeGhostFork   Type = 103 // master > keeper, answered by GhostDone
	TypeGhostExec   Type = 104 // master > keeper, answered by GhostDone
	TypeGhostJoin   Type = 105 // master > keeper, answered by GhostDone
	TypeGhostExit   Type = 106 // master > keeper
	TypeGhostStop   Type = 107 // master > keeper, answered by GhostDone
	TypeGhostCont   Type = 108 // master > keeper, answered by GhostDone
	TypeGhostDone   Type = 109 // keeper > master
	TypeGhostSignal Type = 110 // keeper > master
	TypeGhostGone   Type = 111 // keeper > master
	TypeGhostCall   Type = 112 // master > keeper, answered by GhostDone
	TypeGhostUser   Type = 113 // master > keeper, answered by GhostDone
	TypeGhostTrait  Type = 114 // master > keeper, answered by GhostDone
	TypeGhostTaken  Type = 115 // master > keeper
	TypeGhostSync   Type = 116 // master > keeper, answered by GhostDone

	// Slave daemon and the init of its process space.
	TypeInitLaunch   Type = 130 // daemon > init, answered by InitLaunched
	TypeInitSignal   Type = 131 // daemon > init
	TypeInitCursor   Type = 132 // daemon > init
	TypeInitStatus   Type = 133 // init > daemon
	TypeInitReady    Type = 134 // init > daemon: first frame of a connection
	TypeInitKillAll  Type = 135 // daemon > init
	TypeInitLaunched Type = 136 // init > daemon
	TypeInitGroup    Type = 137 // daemon > init, answered by InitDone
	TypeInitSync     Type = 138 // daemon > init, answered by InitDone
	TypeInitDone     Type = 139 // init > daemon
	TypeInitStore    Type = 140 // daemon > init, with descriptors
	TypeInitDrop     Type = 141 // daemon > init
	TypeInitStored   Type = 142 // init > daemon, with descriptors: after InitReady
	TypeInitForget   Type = 143 // daemon > init
	TypeInitDeadline Type = 144 // daemon > init
	TypeInitFence    Type = 145 // daemon > init
	TypeInitShadow   Type = 146 // daemon > init, answered by InitDone with a descriptor
	TypeInitHangUp   Type = 147 // daemon > init

	// What procfs shows of a node's processes.
	TypeLook      Type = 150 // client > master, answered by Failed or, each Refresh, by Changed and Refreshed
	TypeShow      Type = 151 // master > slave: first frame of a stream
	TypeRefresh   Type = 152 // client > master > slave, answered by Changed, any number of them, and Refreshed
	TypeChanged   Type = 153 // slave > master > client
	TypeRefreshed Type = 154 // slave > master > client
	TypeInspect   Type = 155 // client > master, answered by Failed or Pieces
	TypeFetch     Type = 156 // master > slave: first frame of a stream, answered by Pieces
	TypePiece     Type = 157 // slave > master > client
	TypeViewer    Type = 158 // slave > master: first frame of a stream that the slave opens
	TypeShown     Type = 159 // slave > master > client

	// Several processes at a time.
	TypeRunMany     Type = 160 // client > master, answered by Connections, with descriptors, or Failed
	TypeConnections Type = 161 // master > client

	// Nodes, their hardware and their load.
	TypeAwaitNodes Type = 170 // client > master, answered by NodesAre or Failed
	TypeNodesAre   Type = 171 // master > client

	TypeReadHardware Type = 172 // master > slave: first frame of a stream, answered by Hardware
	TypeHardware     Type = 173 // slave > master
	TypeListHardware Type = 174 // client > master, answered by Failed or HardwareLists
	TypeHardwareList Type = 175 // master > client

	TypeSample    Type = 177 // master > slave: first frame of a stream, answered by Sampled
	TypeSampled   Type = 178 // slave > master
	TypeListLoads Type = 179 // client > master, answered by Failed or LoadList
	TypeLoadList  Type = 180 // master > client
	TypeSetNodes  Type = 181 // client > master, answered by NodesSet
	TypeNodesSet  Type = 182 // master > client

	// Join tokens.
	TypeListTokens  Type = 190 // client > master, answered by Failed or TokenList
	TypeTokenList   Type = 191 // master > client
	TypeRevokeToken Type = 192 // client > master, answered by Done or Failed
)

// Message is the decoded payload of a frame that is not plain bytes.
type Message interface{ Type() Type }
