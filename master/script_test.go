package master

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/taskgroup"
	"bproc/pidmap"
	"bproc/wire"
	"bproc/wire/link"
)

// script is a core, the peers made up around it, and what the core has said to
// them since the last input.
type script struct {
	*testing.T
	core     *core
	now      time.Time
	sessions map[string]*session
	barriers map[string]uint64
	launches map[wire.PID]*launch
	front    *madeUpFrontEnd
	ends     map[string][]func() // what is done when a process has ended, by its number
	asked    []question
	retold   []wire.Event
	adopted  []wire.Adopted
	lines    []string
}

// question is a request to the keeper that waits for an answer.
type question struct {
	number uint64
	name   string // as "done" names it
}

const testLease = 30 * time.Second

func newScript(t *testing.T) *script {
	s := &script{
		T: t, now: time.Unix(1_000_000, 0),
		sessions: map[string]*session{}, barriers: map[string]uint64{}, launches: map[wire.PID]*launch{},
		front: &madeUpFrontEnd{procs: map[wire.PID]frontProc{}}, ends: map[string][]func(){},
	}
	nodes := load(t, new(memory))
	log := slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	alloc := pidmap.NewAllocator(pidmap.Config{BlockSize: 1024, Gap: 1024})
	s.core = newCore(log, testLease, nodes, alloc, &madeUpKeeper{s: s})
	s.core.front, s.core.atEnd = s.front, s.atEnd
	s.core.tasks = &madeUpTree{s: s, groups: map[string]taskgroup.Group{}}
	return s
}

// Write takes what is logged.
func (s *script) Write(line []byte) (int, error) {
	s.say("log %s", strings.TrimSpace(string(line)))
	return len(line), nil
}

func (s *script) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// verbs are the inputs. Numbers of processes and nodes are plain, errors and
// signals have the names of errno(3) and signal(7); what follows the operands
// are options: a word and its value.
var verbs = map[string]func(s *script, args []string){
	// Nodes and their sessions.
	"node":    (*script).addNode,    // ID [mode BITS] [uid N] [gid N] [trust WORD] [has FIRST+COUNT,...]: has joined, and got that of a former master
	"up":      (*script).up,         // SESSION ID [pids N[#BIRTH][^PARENT],...] [starting N,...] [stopped N,...] [blocks FIRST+COUNT,...]: its inventory comes
	"again":   (*script).again,      // EVENT; EVENT...: what the next session is told again
	"taken":   (*script).taken,      // SESSION PID NUMBER [boot N]: a process has its signals
	"end":     (*script).end,        // SESSION: its link has ended
	"cut":     (*script).cut,        // SESSION: its connection is lost
	"heal":    (*script).heal,       // SESSION: its connection is there again
	"events":  (*script).events,     // SESSION [from NUMBER:] EVENT; EVENT; ...
	"call":    (*script).call,       // SESSION NUMBER CALLER CALL [ARGUMENT...] [info yes]
	"wanted":  (*script).wanted,     // SESSION BLOCKS: asks for numbers
	"return":  (*script).blocksBack, // SESSION FIRST+COUNT...: gives numbers back
	"leaves":  (*script).leaves,     // SESSION [empty]: its daemon ends, and all processes
	"strange": (*script).strange,    // SESSION: sends a message that no slave may send
	"set":     (*script).setNode,    // ID by UID/GID [state WORD] [trust WORD] [mode BITS] [uid N] [gid N]
	"revoke":  (*script).revoke,     // ID: its identity is forgotten
	"nodes":   (*script).listNodes,  // the node table
	"after":   (*script).after,      // DURATION: time passes, and a tick comes
	"soon":    (*script).soon,       // it is time to tell what need not be told at once

	// Clients.
	"run":      (*script).run,      // GHOST NODE [by PID] [uid N] [gid N] [hangup yes] [again yes] [launch N]
	"too":      (*script).tooLong,  // long GHOST: no slave can be asked for it
	"left":     (*script).left,     // GHOST [before yes]: its client, or one of a former connection, has closed the connection
	"reparent": (*script).reparent, // GHOST PARENT
	"ps":       (*script).ps,       // the process table

	// The keeper.
	"adopt":  (*script).adopt,  // PID PARENT [hangup yes] [birth N]: so was what comes with "held"
	"held":   (*script).held,   // PID[@NODE]... [stopped PID...]: what a keeper of a former master holds, of node 0 or another; -1: of nobody
	"done":   (*script).done,   // REQUEST PID [ERRNO]: answers
	"signal": (*script).signal, // PID SIGNAL [from PID] [seq N]: from a process, or (0) from the kernel; without: nobody knows
	"gone":   (*script).gone,   // PID [asked no]
	"boot":   (*script).boot,   // N: the boot of the front end
	"lost":   (*script).lost,   // it takes no message any more
	"back":   (*script).back,   // [PID...] [stopped PID...]: there is another, which holds these

	// The front end.
	"proc": (*script).proc, // PID [parent N] [pgid N] [sid N] [uid N] [limit N] [cgroup PATH]: there is such a process, or it has changed
	"none": (*script).none, // PID: it has ended

	"cgroup":  (*script).cgroup,  // PATH ID MAX NOW: there is such a control group, or it has changed; MAX 0: no bound
	"ghosts":  (*script).ghosts,  // PATH: the control group for ghosts
	"bounded": (*script).bounded, // SESSION UID ID TASKS: a node has taken in what it may have
}

// unordered are the inputs after which the core goes through a table: what
// comes out of them has no order.
var unordered = []string{"up", "end", "after", "back", "soon", "revoke"}

func (s *script) input(verb string, args []string) []string {
	f := verbs[verb]
	if f == nil {
		s.Fatalf("unknown input %q", verb)
	}
	s.lines = nil
	f(s, args)
	s.work()
	for _, pid := range slices.Sorted(maps.Keys(s.launches)) {
		s.steps(pid)
	}
	for _, name := range slices.Sorted(maps.Keys(s.sessions)) {
		if at := s.sessions[name].barrier.at.Load(); at != s.barriers[name] {
			s.say("%s barrier at %d", name, at)
			s.barriers[name] = at
		}
	}
	if slices.Contains(unordered, verb) {
		slices.Sort(s.lines)
	}
	return s.lines
}

// steps says what a client is told.
func (s *script) steps(pid wire.PID) {
	for {
		select {
		case step := <-s.launches[pid].steps:
			switch {
			case step.failed != nil:
				s.say("client %d failed: stage %d %s", pid, step.failed.Stage, unix.ErrnoName(unix.Errno(step.failed.Errno)))
			case step.resume != nil:
				s.say("client %d goes on, stream to %s", pid, step.resume.peer.Addr)
			case step.give != nil || step.take != nil:
			case step.sess != nil:
				s.say("client %d adopted, stream to %s%s", pid, step.sess.peer.Addr, place(&step))
			default:
				s.say("client %d started", pid)
			}
		default:
			return
		}
	}
}

func (s *script) number(word string) int {
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		s.Fatal(err)
	}
	return int(n)
}

// birth returns the number that stands for a process; without another it is its own.
func (s *script) birth(pid, other string) uint64 { return uint64(s.number(cmp.Or(other, pid))) }

func (s *script) pid(word string) wire.PID { return wire.PID(s.number(word)) }

// option returns the value of an option as a number.
func (s *script) option(args []string, name string, without int) int {
	if word, ok := s.word(args, name); ok {
		return s.number(word)
	}
	return without
}

// word returns the value of an option.
func (s *script) word(args []string, name string) (string, bool) {
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		return args[i+1], true
	}
	return "", false
}

// text is word for one that may be missing.
func (s *script) text(args []string, name string) string {
	word, _ := s.word(args, name)
	return word
}

func (s *script) session(name string) *session {
	sess := s.sessions[name]
	if sess == nil {
		s.Fatalf("no session %q", name)
	}
	return sess
}

func (s *script) errno(args []string) unix.Errno {
	if len(args) == 0 {
		return 0
	}
	for e := range unix.Errno(134) {
		if unix.ErrnoName(e) == args[0] {
			return e
		}
	}
	s.Fatalf("no error %q", args[0])
	return 0
}

func (s *script) addNode(args []string) {
	id := wire.NodeID(s.number(args[0]))
	n, _, err := s.core.nodes.join("key "+args[0], id, "", s.now, unconnected)
	if err != nil {
		s.Fatal(err)
	}
	n.Trust = cmp.Or(s.text(args, "trust"), trustFull)
	n.Mode = uint32(s.option(args, "mode", 0o111))
	n.UID, n.GID = uint32(s.option(args, "uid", 0)), uint32(s.option(args, "gid", 0))
	if blocks, ok := s.word(args, "has"); ok {
		s.core.blocks.of[id] = s.blocks(strings.Split(blocks, ","))
		if err := s.core.blocks.reserve(s.core.alloc); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *script) up(args []string) {
	name := args[0]
	sess := s.newSession(name, s.number(args[1]))
	if pids, ok := s.word(args, "pids"); ok {
		for word := range strings.SplitSeq(pids, ",") {
			word, parent, _ := strings.Cut(word, "^")
			pid, birth, _ := strings.Cut(word, "#")
			sess.inventory.PIDs = append(sess.inventory.PIDs, s.pid(pid))
			sess.inventory.Births = append(sess.inventory.Births, s.birth(pid, birth))
			sess.inventory.Parents = append(sess.inventory.Parents, s.pid(cmp.Or(parent, "0")))
		}
	}
	if blocks, ok := s.word(args, "blocks"); ok {
		sess.inventory.Blocks = s.blocks(strings.Split(blocks, ","))
	}
	if pids, ok := s.word(args, "starting"); ok {
		sess.inventory.Starting = s.pids(strings.Split(pids, ","))
	}
	if pids, ok := s.word(args, "stopped"); ok {
		sess.inventory.Stopped = s.pids(strings.Split(pids, ","))
	}
	sess.again, s.retold = s.retold, nil
	sess.inventory.Again = uint64(len(sess.again))
	s.sessions[name] = sess
	if err := s.core.sessionUp(sess, s.now); err != nil { // as slaveConn does
		s.say("%s refused: %v", name, err)
		s.core.sessionEnded(sess, err, s.now)
	}
}

// newSession returns a session of a node that nobody knows of yet.
func (s *script) newSession(name string, node int) *session {
	sess := &session{peer: link.Peer{Key: fmt.Sprintf("key %d", node), Addr: name}}
	sess.link, sess.out = &madeUpLink{s: s, name: name, up: true}, &madeUpSlave{s: s, name: name}
	return sess
}

func (s *script) blocks(words []string) []wire.Block {
	var blocks []wire.Block
	for _, word := range words {
		first, count, _ := strings.Cut(word, "+")
		blocks = append(blocks, wire.Block{First: s.pid(first), Count: int32(s.number(count))})
	}
	return blocks
}

func (s *script) blocksBack(args []string) {
	s.core.fromSlave(s.session(args[0]), 0, &wire.BlocksReturned{Blocks: s.blocks(args[1:])})
}

func (s *script) end(args []string) {
	s.core.sessionEnded(s.session(args[0]), errUnexpected, s.now)
}

func (s *script) cut(args []string) {
	l := s.session(args[0]).link.(*madeUpLink)
	l.up, l.since = false, s.now
}

func (s *script) heal(args []string) { s.session(args[0]).link.(*madeUpLink).up = true }

func (s *script) after(args []string) {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		s.Fatal(err)
	}
	s.now = s.now.Add(d)
	s.core.tick(s.now)
}

func (s *script) soon([]string) { s.core.tellNews() }

func (s *script) wanted(args []string) {
	s.core.fromSlave(s.session(args[0]), 0, &wire.BlocksWanted{Blocks: uint32(s.number(args[1]))})
}

func (s *script) leaves(args []string) {
	s.core.fromSlave(s.session(args[0]), 0, &wire.Leaving{Empty: len(args) > 1})
}

func (s *script) strange(args []string) { s.core.fromSlave(s.session(args[0]), 0, new(wire.KillAll)) }

func (s *script) setNode(args []string) {
	uid, gid, _ := strings.Cut(args[2], "/")
	who := caller{uid: uint32(s.number(uid)), gid: uint32(s.number(gid))}
	m := &wire.SetNode{Node: wire.NodeID(s.number(args[0]))}
	if state, ok := s.word(args[3:], "state"); ok {
		m.State = &state
	}
	if trust, ok := s.word(args[3:], "trust"); ok {
		m.Trust = &trust
	}
	for name, field := range map[string]**uint32{"mode": &m.Mode, "uid": &m.UID, "gid": &m.GID} {
		if word, ok := s.word(args[3:], name); ok {
			n := uint32(s.number(word))
			*field = &n
		}
	}
	if errno := s.core.setNode(who, m, s.now); errno != 0 {
		s.say("%s", unix.ErrnoName(errno))
	}
}

func (s *script) revoke(args []string) {
	if failed := s.core.revoke(wire.NodeID(s.number(args[0])), s.now); failed != nil {
		s.say("%s %s", unix.ErrnoName(unix.Errno(failed.Errno)), failed.Text)
	}
}

func (s *script) listNodes([]string) {
	for _, n := range s.core.nodes.sorted() {
		r := n.record()
		s.say("%d %s mode %#o uid %d gid %d, %d processes, since %d", r.ID, r.State, r.Mode, r.UID, r.GID, r.Procs, r.Since)
	}
}

func (s *script) run(args []string) {
	who := caller{pid: wire.PID(s.option(args, "by", 100)), uid: uint32(s.option(args, "uid", 1000)), gid: uint32(s.option(args, "gid", 1000))}
	_, hangUp := s.word(args, "hangup")
	l := newLaunch(wire.NodeID(s.number(args[1])), hangUp, wire.Spawn{PID: s.pid(args[0]), Parent: who.pid, UID: who.uid, Launch: s.birth(args[0], s.text(args, "launch"))})
	_, l.again = s.word(args, "again")
	if old := s.launches[l.spawn.PID]; old != nil {
		s.steps(l.spawn.PID)
	}
	s.launches[l.spawn.PID] = l
	s.core.begin(l, who)
}

func (s *script) tooLong(args []string) {
	s.core.refuse(s.launches[s.pid(args[1])], wire.StageSpawn, unix.E2BIG)
}

func (s *script) left(args []string) {
	client := new(clientConn)
	if p := s.core.procs[s.pid(args[0])]; p != nil && s.text(args, "before") == "" {
		client = p.client
	}
	s.say("runs: %v", s.core.clientLeft(s.pid(args[0]), client))
}

func (s *script) reparent(args []string) { s.core.reparent(s.pid(args[0]), s.pid(args[1])) }

func (s *script) ps([]string) {
	for _, p := range s.core.list() {
		s.say("%d on node %d", p.PID, p.Node)
	}
	s.say("%d in the table", len(s.core.procs))
}

func (s *script) held(args []string) {
	nodes := map[wire.PID]wire.NodeID{}
	for i, word := range args {
		if pid, node, ok := strings.Cut(word, "@"); ok {
			args[i] = pid
			nodes[s.pid(pid)] = wire.NodeID(s.number(node))
		}
	}
	held, stopped := s.halves(args)
	for _, pid := range held {
		i := slices.IndexFunc(s.adopted, func(how wire.Adopted) bool { return how.PID == pid })
		if i < 0 {
			i, s.adopted = len(s.adopted), append(s.adopted, wire.Adopted{PID: pid})
		}
		if nodes[pid] >= 0 {
			s.adopted[i].Owner = ownership(nodes[pid], 1000)
		}
	}
	s.core.foundGhosts(held, stopped, s.adopted, s.now)
}

// halves are PID... [stopped PID...].
func (s *script) halves(args []string) (held, stopped []wire.PID) {
	if i := slices.Index(args, "stopped"); i >= 0 {
		return s.pids(args[:i]), s.pids(args[i+1:])
	}
	return s.pids(args), nil
}

func (s *script) pids(args []string) []wire.PID {
	var pids []wire.PID
	for _, word := range args {
		pids = append(pids, s.pid(word))
	}
	return pids
}

// done answers the oldest request of a name, which is the type of the message
// and the process it is about.
func (s *script) done(args []string) {
	name := args[0] + " " + args[1]
	i := slices.IndexFunc(s.asked, func(q question) bool { return q.name == name })
	if i < 0 {
		s.Fatalf("no request %q; there are %v", name, s.asked)
	}
	q := s.asked[i]
	s.asked = slices.Delete(s.asked, i, i+1)
	s.core.fromKeeper(q.number, &wire.GhostDone{Errno: uint32(s.errno(args[2:]))})
}

func (s *script) signal(args []string) {
	info := kernelSignal(unix.SignalNum(args[1]))
	if from := s.option(args, "from", -1); from != 0 {
		binary.LittleEndian.PutUint32(info[8:], 0) // SI_USER
		binary.LittleEndian.PutUint32(info[16:], uint32(max(0, from)))
	}
	s.core.fromKeeper(0, &wire.GhostSignal{PID: s.pid(args[0]), Info: info, Seq: uint64(s.option(args, "seq", 0))})
}

func (s *script) boot(args []string) { s.core.boot = uint64(s.number(args[0])) }

func (s *script) gone(args []string) {
	_, unasked := s.word(args, "asked")
	s.core.fromKeeper(0, &wire.GhostGone{PID: s.pid(args[0]), Asked: !unasked})
}

func (s *script) lost([]string) { s.core.keeper.(*madeUpKeeper).lost = true }

func (s *script) back(args []string) {
	s.asked = nil
	held, stopped := s.halves(args)
	s.core.keeperBack(&madeUpKeeper{s: s}, held, stopped)
}
