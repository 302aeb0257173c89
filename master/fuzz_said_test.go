package master

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestMessagesAreFuzzed compares the messages that a client or a node may send with the seeds of
// this package's fuzz targets: one of them sends each message to a master and its core. Other
// packages have those of the control stream (master/core) and of the opening of a link (wire/link),
// and their own tests for completeness.
func TestMessagesAreFuzzed(t *testing.T) {
	protocol, err := os.ReadFile("../wire/PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{"Refresh": true, "Viewer": true} // by all of FuzzRequest, and of FuzzViewer
	for _, m := range append(requestSeeds(), answerSeeds()...) {
		said[reflect.TypeOf(m).Elem().Name()] = true
	}
	for _, typ := range append(saidToProcesses, saidFromProcesses...) {
		said[typ.name] = true
	}
	line := regexp.MustCompile(`^\| \d+ \| (\w+) \| (client|slave) > `)
	section, count := "", 0
	for text := range strings.Lines(string(protocol)) {
		if strings.HasPrefix(text, "### ") {
			section = strings.TrimSpace(text)
		}
		match := line.FindStringSubmatch(text)
		if match == nil || section == "### The control stream" || section == "### Between machines: the opening" {
			continue
		}
		if count++; !said[match[1]] {
			t.Errorf("no fuzz target says %s (%s)", match[1], section)
		}
	}
	if count < 30 {
		t.Errorf("the protocol names %d messages of clients and nodes", count)
	}
}
