package agent

import (
	"bytes"
	"reflect"
	"testing"
)

// TestNamesAreBytes sends names that are not UTF-8.
func TestNamesAreBytes(t *testing.T) {
	const odd = "a\xffb"
	var b bytes.Buffer
	c := NewConn(&b, &b)
	for _, want := range []Setup{
		{Dir: "/" + odd, Send: &Send{Paths: Names{odd, "", "ä"}, Names: Names{odd + "1", "x"}}},
		{Receive: &Receive{Path: odd, Names: Names{odd}}},
		{Receive: &Receive{}}, // any names
	} {
		if err := c.Send(want); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Receive(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}
