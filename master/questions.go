package master

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// answer answers a question of the core; nil: the answer comes later.
func (m *Master) answer(ctx context.Context, o core.Ask) core.Input {
	a := core.Answer{Number: o.Number}
	var err error
	switch q := o.Question.(type) {
	case core.ParentOf:
		a.PID, err = m.kernel.parent(q.PID)
	case core.GroupOf:
		a.PID, err = m.kernel.group(q.PID)
	case core.SessionOf:
		a.PID, err = m.kernel.session(q.PID)
	case core.Exists:
		err = m.kernel.exists(q.PID)
	case core.FreeNumber:
		a.PID, err = m.kernel.free()
	case core.IsRoot:
		a.Root = m.kernel.root(q.PID)
	case core.MayJoin:
		session, sure, joins := m.kernel.mayJoin(q.PID, q.Group)
		if err = joins; !sure {
			m.slow.add(m.whose(q.PID), func() { m.answered(ctx, a, m.kernel.member(q.Group, session)) })
			return nil
		}
	case core.Members:
		m.slow.add(m.whose(q.Of), func() { m.answered(ctx, m.members(a, q), nil) })
		return nil
	case core.TaskGroupsOf:
		if q.Into != "" {
			m.slow.add(m.whose(q.PID), func() { m.settle(ctx, a, q) })
			return nil
		}
		a.Groups, err = m.taskGroups.of(q.PID)
	case core.CountTasks:
		a.Groups = m.taskGroups.count(q.Paths)
	case core.EndOf:
		return m.endOf(ctx, a, q)
	case core.ParentAfter:
		if m.clientEnds.follow(ctx, q.End, func(err error) { m.parentAfter(ctx, a, q, err) }) {
			return nil
		}
		err = unix.EAGAIN
	}
	return withError(a, err)
}

// whose returns for whom work about a process is done: for its user, or nobody if it has ended, on
// its node. A node that asks for much delays only users with processes there. The caller
// holds the lock of the state.
func (m *Master) whose(pid wire.PID) int64 {
	const users = 1 << 33 // user numbers, and nobody
	whom := int64(users - 1)
	if uid, err := m.kernel.owner(pid); err == nil {
		whom = int64(uid)
	}
	if node, is := m.state.core.NodeOfProcess(pid); is {
		whom += (int64(node) + 1) * users
	}
	return whom
}

// withError returns an answer with the error of a system call.
func withError(a core.Answer, err error) core.Answer {
	if err != nil && !errors.As(err, &a.Errno) {
		a.Errno = unix.ESRCH
	}
	return a
}

// answered gives the core an answer, unless the master has ended.
func (m *Master) answered(ctx context.Context, a core.Answer, err error) {
	_ = m.state.step(ctx, withError(a, err))
}

// members answers which processes are in a group.
func (m *Master) members(a core.Answer, q core.Members) core.Answer {
	a.PID = q.Group
	if a.PID == 0 {
		a.PID, _ = m.kernel.group(q.Of) // 0: it has just ended
	}
	for _, pid := range q.Among {
		if group, err := m.kernel.group(pid); err == nil && group == a.PID {
			a.PIDs = append(a.PIDs, pid)
		}
	}
	return a
}

// settle has a ghost enter the control group for ghosts.
func (m *Master) settle(ctx context.Context, a core.Answer, q core.TaskGroupsOf) {
	if err := m.taskGroups.tree.Enter(int(q.PID), q.Into); err != nil {
		a.Text = err.Error()
	}
	var err error
	a.Groups, err = m.taskGroups.of(q.PID)
	m.answered(ctx, a, err)
}

// endOf answers when a process has ended, or whether it exists.
func (m *Master) endOf(ctx context.Context, a core.Answer, q core.EndOf) core.Input {
	f, err := m.kernel.open(q.PID)
	switch {
	case err != nil:
		return withError(a, err)
	case !q.Wait:
		return withError(a, f.Close())
	}
	m.exits.follow(ctx, f, a.Number, func() { m.answered(ctx, a, nil) })
	return nil
}

// parentAfter answers which parent a process has after the end of its former one. A client that
// does not end keeps its process.
func (m *Master) parentAfter(ctx context.Context, a core.Answer, q core.ParentAfter, err error) {
	if err == nil {
		a.PID, err = m.kernel.parent(q.PID)
	} else {
		m.log.Debug("a client that left its process did not end", "pid", q.End, "err", err)
	}
	m.answered(ctx, a, err)
}
