package wire

import (
	"bytes"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// factories has a function for each message type that makes an empty message.
var factories = map[Type]func() Message{
	TypeHello:          func() Message { return new(Hello) },
	TypeWelcome:        func() Message { return new(Welcome) },
	TypeRefused:        func() Message { return new(Refused) },
	TypeJoinRequest:    func() Message { return new(JoinRequest) },
	TypeJoinReply:      func() Message { return new(JoinReply) },
	TypeAbout:          func() Message { return new(About) },
	TypeBypassHello:    func() Message { return new(BypassHello) },
	TypeBypassWelcome:  func() Message { return new(BypassWelcome) },
	TypeRun:            func() Message { return new(Run) },
	TypeSpawn:          func() Message { return new(Spawn) },
	TypeStarted:        func() Message { return new(Started) },
	TypeFailed:         func() Message { return new(Failed) },
	TypeAttach:         func() Message { return new(Attach) },
	TypeResume:         func() Message { return new(Resume) },
	TypeResumed:        func() Message { return new(Resumed) },
	TypeSignal:         func() Message { return new(Signal) },
	TypeBlocksGranted:  func() Message { return new(BlocksGranted) },
	TypeReparent:       func() Message { return new(Reparent) },
	TypeKillAll:        func() Message { return new(KillAll) },
	TypeRenew:          func() Message { return new(Renew) },
	TypeRenewRequest:   func() Message { return new(RenewRequest) },
	TypeRenewReply:     func() Message { return new(RenewReply) },
	TypeHangUp:         func() Message { return new(HangUp) },
	TypeReturn:         func() Message { return new(Return) },
	TypeProgress:       func() Message { return new(Progress) },
	TypeBudget:         func() Message { return new(Budget) },
	TypeBounded:        func() Message { return new(Bounded) },
	TypeEvents:         func() Message { return new(Events) },
	TypeBlocksWanted:   func() Message { return new(BlocksWanted) },
	TypeInventory:      func() Message { return new(Inventory) },
	TypeCall:           func() Message { return new(Call) },
	TypeBlocksReturned: func() Message { return new(BlocksReturned) },
	TypeSignalsTaken:   func() Message { return new(SignalsTaken) },
	TypeLeaving:        func() Message { return new(Leaving) },
	TypeEnded:          func() Message { return new(Ended) },
	TypeBypass:         func() Message { return new(Bypass) },
	TypeBypassed:       func() Message { return new(Bypassed) },
	TypeOpenBypass:     func() Message { return new(OpenBypass) },
	TypeListNodes:      func() Message { return new(ListNodes) },
	TypeNodeList:       func() Message { return new(NodeList) },
	TypeListNumbers:    func() Message { return new(ListNumbers) },
	TypeNumberList:     func() Message { return new(NumberList) },
	TypeEnroll:         func() Message { return new(Enroll) },
	TypeToken:          func() Message { return new(Token) },
	TypeRevoke:         func() Message { return new(Revoke) },
	TypePowerOn:        func() Message { return new(PowerOn) },
	TypeReadLog:        func() Message { return new(ReadLog) },
	TypeLogText:        func() Message { return new(LogText) },
	TypeReload:         func() Message { return new(Reload) },
	TypeReloaded:       func() Message { return new(Reloaded) },
	TypePower:          func() Message { return new(Power) },
	TypePowered:        func() Message { return new(Powered) },
	TypeNames:          func() Message { return new(Names) },
	TypeAwaitNames:     func() Message { return new(AwaitNames) },
	TypeListTokens:     func() Message { return new(ListTokens) },
	TypeTokenList:      func() Message { return new(TokenList) },
	TypeRevokeToken:    func() Message { return new(RevokeToken) },
	TypeDone:           func() Message { return new(Done) },
	TypeListProcs:      func() Message { return new(ListProcs) },
	TypeProcList:       func() Message { return new(ProcList) },
	TypeBirths:         func() Message { return new(Births) },
	TypeBorn:           func() Message { return new(Born) },
	TypeGhostHello:     func() Message { return new(GhostHello) },
	TypeGhostList:      func() Message { return new(GhostList) },
	TypeGhostAdopt:     func() Message { return new(GhostAdopt) },
	TypeGhostFork:      func() Message { return new(GhostFork) },
	TypeGhostExec:      func() Message { return new(GhostExec) },
	TypeGhostJoin:      func() Message { return new(GhostJoin) },
	TypeGhostExit:      func() Message { return new(GhostExit) },
	TypeGhostStop:      func() Message { return new(GhostStop) },
	TypeGhostCont:      func() Message { return new(GhostCont) },
	TypeGhostDone:      func() Message { return new(GhostDone) },
	TypeGhostSignal:    func() Message { return new(GhostSignal) },
	TypeGhostGone:      func() Message { return new(GhostGone) },
	TypeGhostCall:      func() Message { return new(GhostCall) },
	TypeGhostUser:      func() Message { return new(GhostUser) },
	TypeGhostTrait:     func() Message { return new(GhostTrait) },
	TypeGhostTaken:     func() Message { return new(GhostTaken) },
	TypeGhostSync:      func() Message { return new(GhostSync) },
	TypeInitReady:      func() Message { return new(InitReady) },
	TypeInitLaunch:     func() Message { return new(InitLaunch) },
	TypeInitLaunched:   func() Message { return new(InitLaunched) },
	TypeInitSignal:     func() Message { return new(InitSignal) },
	TypeInitCursor:     func() Message { return new(InitCursor) },
	TypeInitStatus:     func() Message { return new(InitStatus) },
	TypeInitKillAll:    func() Message { return new(InitKillAll) },
	TypeInitGroup:      func() Message { return new(InitGroup) },
	TypeInitSync:       func() Message { return new(InitSync) },
	TypeInitDone:       func() Message { return new(InitDone) },
	TypeInitStore:      func() Message { return new(InitStore) },
	TypeInitDrop:       func() Message { return new(InitDrop) },
	TypeInitStored:     func() Message { return new(InitStored) },
	TypeInitForget:     func() Message { return new(InitForget) },
	TypeInitDeadline:   func() Message { return new(InitDeadline) },
	TypeInitFence:      func() Message { return new(InitFence) },
	TypeInitShadow:     func() Message { return new(InitShadow) },
	TypeInitHangUp:     func() Message { return new(InitHangUp) },
	TypeLook:           func() Message { return new(Look) },
	TypeShow:           func() Message { return new(Show) },
	TypeRefresh:        func() Message { return new(Refresh) },
	TypeChanged:        func() Message { return new(Changed) },
	TypeRefreshed:      func() Message { return new(Refreshed) },
	TypeInspect:        func() Message { return new(Inspect) },
	TypeFetch:          func() Message { return new(Fetch) },
	TypePiece:          func() Message { return new(Piece) },
	TypeViewer:         func() Message { return new(Viewer) },
	TypeShown:          func() Message { return new(Shown) },
	TypeRunMany:        func() Message { return new(RunMany) },
	TypeConnections:    func() Message { return new(Connections) },
	TypeAwaitNodes:     func() Message { return new(AwaitNodes) },
	TypeNodesAre:       func() Message { return new(NodesAre) },
	TypeReadHardware:   func() Message { return new(ReadHardware) },
	TypeHardware:       func() Message { return new(Hardware) },
	TypeListHardware:   func() Message { return new(ListHardware) },
	TypeHardwareList:   func() Message { return new(HardwareList) },
	TypeSample:         func() Message { return new(Sample) },
	TypeSampled:        func() Message { return new(Sampled) },
	TypeListLoads:      func() Message { return new(ListLoads) },
	TypeLoadList:       func() Message { return new(LoadList) },
	TypeSetNodes:       func() Message { return new(SetNodes) },
	TypeNodesSet:       func() Message { return new(NodesSet) },
}

// encode appends the msgpack form of m to dst.
func encode(dst []byte, m Message) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	enc := msgpack.GetEncoder()
	defer msgpack.PutEncoder(enc)
	enc.Reset(buf)
	enc.UseCompactInts(true)
	if err := enc.Encode(m); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}

// Decode decodes the payload of a frame. It validates the payload first, so that no hostile input
// reaches the decoder.
func Decode(h Header, payload []byte) (Message, error) {
	factory, ok := factories[h.Type]
	if !ok {
		return nil, fmt.Errorf("%w: type %d is no message", ErrFrame, h.Type)
	}
	if err := validate(payload); err != nil {
		return nil, fmt.Errorf("%w: type %d: %w", ErrFrame, h.Type, err)
	}
	m := factory()
	if err := decode(payload, m); err != nil {
		return nil, fmt.Errorf("%w: type %d: %w", ErrFrame, h.Type, err)
	}
	return m, nil
}

// New returns an empty message of a type; nil if the type has no message.
func New(t Type) Message {
	if factory := factories[t]; factory != nil {
		return factory()
	}
	return nil
}
