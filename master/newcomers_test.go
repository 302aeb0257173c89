package master

import (
	"errors"
	"testing"
)

type closedBy struct {
	noLink
	cause error
}

func (c *closedBy) Close(cause error) { c.cause = cause }

// TestNewcomers has slaves begin sessions in which they say nothing.
func TestNewcomers(t *testing.T) {
	var n newcomers
	var first, other, second, third closedBy
	leaveFirst := n.enter("a", &first)
	leaveOther := n.enter("b", &other)
	leaveSecond := n.enter("a", &second)
	if !errors.Is(first.cause, errAnother) || other.cause != nil || second.cause != nil {
		t.Errorf("ended: %v, %v and %v", first.cause, other.cause, second.cause)
	}
	leaveFirst() // it is not the one that is there
	leaveThird := n.enter("a", &third)
	if !errors.Is(second.cause, errAnother) {
		t.Errorf("the second is not ended: %v", second.cause)
	}
	leaveSecond()
	leaveThird()
	leaveThird()
	fourth := closedBy{}
	leaveFourth := n.enter("a", &fourth)
	if third.cause != nil {
		t.Errorf("ended after its inventory: %v", third.cause)
	}
	leaveFourth()
	if leaveOther(); len(n.last) != 0 {
		t.Errorf("left: %v", n.last)
	}
}
