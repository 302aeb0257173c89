package wire_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"bproc/wire"
)

// documented is a line of the tables of messages in PROTOCOL.md.
type documented struct {
	number int
	name   string
	body   string
}

// protocol parses the tables of PROTOCOL.md: messages by number, and structs within messages by
// name.
func protocol(t *testing.T) (messages map[int]documented, structs map[string]string) {
	t.Helper()
	text, err := os.ReadFile("PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	messages, structs = map[int]documented{}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		number, err := strconv.Atoi(cells[0])
		switch {
		case len(cells) == 6 && err == nil:
			if old, ok := messages[number]; ok {
				t.Errorf("number %d is %s and %s", number, old.name, cells[1])
			}
			for i, what := range []string{"number", "name", "direction", "since"} {
				if cells[i] == "" {
					t.Errorf("number %d has no %s", number, what)
				}
			}
			messages[number] = documented{number, cells[1], cells[4]}
		case len(cells) == 3 && cells[1] == "1":
			structs[cells[0]] = cells[2]
		}
	}
	return messages, structs
}

// body formats the fields of a struct as PROTOCOL.md does, and collects the structs among them.
func body(t reflect.Type, inner map[string]string) string {
	var fields []string
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name := strings.ReplaceAll(f.Type.String(), "wire.", "")
		fields = append(fields, f.Name+" "+strings.ReplaceAll(name, "[]uint8", "bytes"))
		elem := f.Type
		if k := elem.Kind(); k == reflect.Slice || k == reflect.Array || k == reflect.Pointer {
			elem = elem.Elem()
		}
		if _, isMessage := reflect.New(elem).Interface().(wire.Message); elem.Kind() == reflect.Struct && !isMessage {
			inner[elem.Name()] = body(elem, inner)
		}
	}
	return strings.Join(fields, ", ")
}

// typeNumbers parses the declarations of messages.go: the numbers by name.
func typeNumbers(t *testing.T) map[string]int {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "messages.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		name, found := strings.CutPrefix(spec.Names[0].Name, "Type")
		lit, isLit := spec.Values[0].(*ast.BasicLit)
		if !found || !isLit {
			t.Errorf("%s is not a type with its number", spec.Names[0].Name)
			return true
		}
		if numbers[name], err = strconv.Atoi(lit.Value); err != nil {
			t.Error(err)
		}
		return true
	})
	return numbers
}

// TestProtocolMatchesCode checks the numbers, names and bodies of all messages against PROTOCOL.md,
// and that every number has a message or plain bytes.
func TestProtocolMatchesCode(t *testing.T) {
	messages, structs := protocol(t)
	declared := typeNumbers(t)
	for name, number := range declared {
		if messages[number].name != name {
			t.Errorf("number %d is %s in the code, %q in PROTOCOL.md", number, name, messages[number].name)
		}
	}
	if len(declared) != len(messages) {
		t.Errorf("%d types are declared, %d are in PROTOCOL.md", len(declared), len(messages))
	}
	known, inner := map[int]bool{}, map[string]string{}
	for _, typ := range wire.Types() {
		known[int(typ)] = true
		m := reflect.TypeOf(wire.New(typ)).Elem()
		doc := messages[int(typ)]
		if m.Name() != doc.name {
			t.Errorf("number %d makes a %s, PROTOCOL.md says %q", typ, m.Name(), doc.name)
		}
		if got := body(m, inner); got != doc.body {
			t.Errorf("%s has %q, PROTOCOL.md says %q", m.Name(), got, doc.body)
		}
	}
	for number, doc := range messages {
		if !known[number] && (!wire.Type(number).IsData() || doc.body != "plain bytes") {
			t.Errorf("number %d (%s) has no message", number, doc.name)
		}
	}
	if fmt.Sprint(structs) != fmt.Sprint(inner) {
		t.Errorf("structs in PROTOCOL.md:\n%v\nin the code:\n%v", structs, inner)
	}
}

// TestTypeNumbersArePinned checks that numbers do not change. The golden frames pin the contents of
// messages; this pins the names.
func TestTypeNumbersArePinned(t *testing.T) {
	want := map[string]int{
		"Hello": 1, "Welcome": 2, "Refused": 3, "JoinRequest": 4, "JoinReply": 5, "About": 6,
		"Run": 20, "Spawn": 21, "Started": 22, "Failed": 23, "Stdin": 24, "Stdout": 25, "Stderr": 26,
		"Attach": 27, "Resume": 28, "Resumed": 29, "StdinTaken": 30, "StdoutTaken": 31, "StderrTaken": 32, "Resize": 33, "Ended": 34,
		"BypassHello": 7, "BypassWelcome": 8, "Effective": 35, "Bypass": 36, "Bypassed": 37, "OpenBypass": 38,
		"Signal": 40, "BlocksGranted": 41, "Reparent": 42, "KillAll": 43, "HangUp": 44, "Events": 60, "BlocksWanted": 61, "Inventory": 62,
		"Return": 45, "Progress": 46, "Budget": 47, "Call": 63, "BlocksReturned": 64, "SignalsTaken": 65, "Leaving": 66, "Bounded": 67,
		"Renew": 48, "RenewReply": 49, "RenewRequest": 68, "Revoke": 90,
		"ListTokens": 190, "TokenList": 191, "RevokeToken": 192, "Power": 50, "Names": 51, "AwaitNames": 96, "Powered": 69, "PowerOn": 91, "ReadLog": 92, "LogText": 93, "Reload": 94, "Reloaded": 95,
		"ListNumbers": 98, "NumberList": 99, "ListNodes": 80, "NodeList": 81, "Enroll": 82, "Token": 83, "Done": 85, "ListProcs": 86, "ProcList": 87,
		"Births": 88, "Born": 89,
		"GhostHello": 100, "GhostList": 101, "GhostAdopt": 102, "GhostFork": 103, "GhostExec": 104, "GhostJoin": 105,
		"GhostExit": 106, "GhostStop": 107, "GhostCont": 108, "GhostDone": 109, "GhostSignal": 110, "GhostGone": 111,
		"GhostCall": 112, "GhostUser": 113, "GhostTrait": 114, "GhostTaken": 115, "GhostSync": 116,
		"InitLaunch": 130, "InitSignal": 131, "InitCursor": 132, "InitStatus": 133, "InitReady": 134, "InitKillAll": 135, "InitLaunched": 136,
		"InitGroup": 137, "InitSync": 138, "InitDone": 139, "InitStore": 140, "InitDrop": 141, "InitStored": 142, "InitForget": 143,
		"InitDeadline": 144, "InitFence": 145, "InitShadow": 146, "InitHangUp": 147,
		"Look": 150, "Show": 151, "Refresh": 152, "Changed": 153, "Refreshed": 154, "Inspect": 155, "Fetch": 156, "Piece": 157,
		"Viewer": 158, "Shown": 159,
		"AwaitNodes": 170, "NodesAre": 171, "ReadHardware": 172, "Hardware": 173, "ListHardware": 174, "HardwareList": 175,
		"Sample": 177, "Sampled": 178, "ListLoads": 179, "LoadList": 180, "SetNodes": 181, "NodesSet": 182,
		"RunMany": 160, "Connections": 161,
	}
	got := typeNumbers(t)
	for name, number := range want {
		if got[name] != number {
			t.Errorf("%s has number %d, want %d", name, got[name], number)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d types are declared, %d are pinned: pin the new ones", len(got), len(want))
	}
}
