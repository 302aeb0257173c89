package core

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"bproc/wire"
)

// moveRenewRequest has the node ask for a certificate, whether it was told to or not.
func moveRenewRequest(a *arena) {
	a.session().renewal.wanted = a.next()%2 == 0
	a.sends(&wire.RenewRequest{CSR: make([]byte, a.next())})
}

var powerActions = []string{"reboot", "halt", "pwroff", "", "up", "no action\n"}

// movePowered has the node report the end of its power command.
func movePowered(a *arena) {
	a.sends(&wire.Powered{Action: powerActions[int(a.next())%len(powerActions)], Text: []string{"", "no such file\x1b[2J", strings.Repeat("x", 1000)}[a.next()%3]})
}

// movePower has root take the node down, or set it up again.
func movePower(a *arena) {
	state := append(powerActions[:3:3], "up", "boot")[a.next()%5]
	a.set(Caller{}, wire.SetNodes{Nodes: []wire.NodeID{0}, State: &state})
}

// moveHardware has the node report its machine, as after the check of the report.
func moveHardware(a *arena) {
	h := &wire.Hardware{Kernel: "6", CPUs: uint32(a.next()), Memory: uint64(a.next()), GPUs: make([]wire.GPU, a.next()%8)}
	a.step(HardwareRead{a.session().id, h})
	a.core.Hardware(0)
}

// moveJoin has a machine join with a token that has no number: with the name that both nodes have,
// or with another. Its identity is new (wire/link).
func moveJoin(a *arena) {
	a.clients++
	a.step(Join{Identity: fmt.Sprint("new ", a.clients), Host: []string{"", "other"}[a.next()%2], Want: -1})
}

// moveSetLabels has a client of user 1000 label nodes.
func moveSetLabels(a *arena) {
	m := wire.SetNodes{Nodes: []wire.NodeID{wire.NodeID(a.next()%4) - 1}, Set: []string{"gpu", "a=b"}[:1+a.next()%2]}
	if a.set(Caller{PID: 100, UID: 1000, GID: 1000}, m) == 0 {
		a.Errorf("user 1000 sets labels of node %v", m.Nodes)
	}
}

// saidByNodes are the moves for the messages that nodes send on the control stream.
var saidByNodes = map[string]move{
	"Events": moveEvents, "BlocksWanted": moveBlocksWanted, "Inventory": moveInventory, "Call": moveCall, "BlocksReturned": moveBlocksReturned,
	"SignalsTaken": moveSignalsTaken, "Leaving": moveLeaving, "Bounded": moveBounded, "RenewRequest": moveRenewRequest, "Powered": movePowered,
}

// TestMessagesOfNodesAreFuzzed compares these with the protocol, and with the fuzz targets.
func TestMessagesOfNodesAreFuzzed(t *testing.T) {
	protocol, err := os.ReadFile("../../wire/PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	targets, err := os.ReadFile("fuzz_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(protocol), "### The control stream")
	section, _, _ = strings.Cut(section, "\n### ")
	said := regexp.MustCompile(`(?m)^\| \d+ \| (\w+) \| slave > master \|`).FindAllStringSubmatch(section, -1)
	if len(said) == 0 {
		t.Fatal("the protocol names no message of a node")
	}
	for _, match := range said {
		m := saidByNodes[match[1]]
		if m == nil {
			t.Errorf("no move says %s", match[1])
			continue
		}
		name := runtime.FuncForPC(reflect.ValueOf(m).Pointer()).Name()
		if name = name[strings.LastIndex(name, ".")+1:]; !regexp.MustCompile(`func Fuzz\w+\(f \*testing\.F\) +\{ fuzzMoves\(f, ` + name + `\b`).Match(targets) {
			t.Errorf("no target has %s for %s", name, match[1])
		}
	}
}
