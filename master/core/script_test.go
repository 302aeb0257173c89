package core

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// script is a core with models of its peers, and the core's messages to them since the last input.
type script struct {
	free []wire.PID // numbers that the front end's kernel says to be free
	*testing.T
	core     *Core
	now      time.Time
	sessions map[string]*session
	names    map[Session]string
	barriers map[Session]uint64
	placed   map[Session]uint64
	launches map[wire.PID]Run
	steps    map[Client][]string // what clients have yet to be told
	clients  Client              // the last one
	front    *madeUpFrontEnd
	tree     *madeUpTree
	kept     map[Table]*memory
	ends     map[wire.PID][]uint64  // questions that are answered when a process has ended
	left     map[wire.PID]uint64    // questions for the parent after the end of a client
	attempts map[wire.NodeID]uint64 // the last attempt at each node's set-up
	asked    []question
	retold   []wire.Event
	adopted  []wire.Adopted
	lost     bool // the keeper takes nothing
	sent     []Output
	lines    []string
}

// question is a request to the keeper that waits for an answer.
type question struct {
	number uint64
	name   string // as "done" names it
}

const testLease = 30 * time.Second

func newScript(t *testing.T) *script {
	return scriptWith(t, Config{TaskGroups: true})
}

// scriptWith returns a script with a core of a configuration.
func scriptWith(t *testing.T, cfg Config) *script {
	t.Helper()
	s := &script{
		T: t, now: time.Unix(1_000_000, 0),
		sessions: map[string]*session{}, names: map[Session]string{}, barriers: map[Session]uint64{}, placed: map[Session]uint64{},
		launches: map[wire.PID]Run{}, steps: map[Client][]string{}, attempts: map[wire.NodeID]uint64{},
		front: &madeUpFrontEnd{procs: map[wire.PID]frontProc{}}, ends: map[wire.PID][]uint64{}, left: map[wire.PID]uint64{},
		kept: map[Table]*memory{Nodes: {records: cfg.Nodes}, Blocks: {records: cfg.Blocks}},
	}
	s.tree = &madeUpTree{s: s, groups: map[string]TaskGroup{}}
	s.begin(cfg)
	return s
}

// begin begins with a core, the first or a later one, which knows what was kept.
func (s *script) begin(cfg Config) {
	s.Helper()
	cfg.Now, cfg.Lease = s.now, testLease
	cfg.Nodes, cfg.Blocks = s.kept[Nodes].records, s.kept[Blocks].records
	if cfg.MaxEnds == 0 {
		cfg.MaxEnds = 4096
	}
	core, err := New(cfg)
	if err != nil {
		s.Fatal(err)
	}
	s.core = core
	s.do(func() {})
}

// step gives the core an input and performs the outputs.
func (s *script) step(in Input) { s.outputs(s.core.Step(s.now, in)) }

// do is step for something that is not an input.
func (s *script) do(what func()) {
	s.core.clock = s.now
	what()
	out := s.core.out
	s.core.out = nil
	s.outputs(out)
}

// outputs performs the outputs of the core, and then those that follow.
func (s *script) outputs(out []Output) {
	for ; len(out) > 0; out = out[1:] {
		s.sent = append(s.sent, out[0])
		switch o := out[0].(type) {
		case ToKeeper:
			s.toKeeper(o)
		case ToNode:
			s.toNode(o)
		case Log:
			s.logs(o)
		case CloseSession:
			s.say("%s closed: %v", s.names[o.Session], o.Cause)
		case Placed:
			s.placed[o.Session] = o.Event
		case Keep:
			out = append(out, s.core.Step(s.now, Kept{o.Number, s.kept[o.Table].change(o.Records)})...)
		case Ask:
			if a := s.answer(o); a != nil {
				out = append(out, s.core.Step(s.now, *a)...)
			}
		case Forget:
			for pid := range s.ends {
				s.ends[pid] = slices.DeleteFunc(s.ends[pid], func(n uint64) bool { return n == o.Number })
			}
		case Certify:
			s.say("%s certifies %s", s.names[o.Session], o.CSR)
		case Reply:
			if errno, text := failure(o); errno != 0 {
				s.say("%s", strings.TrimSpace(unix.ErrnoName(errno)+" "+text))
			}
		case Kill:
			s.say("kill %d %s", o.PID, unix.SignalName(o.Signal))
		case SetUp, StopSetUp:
			s.toSetUp(o)
		case HandOver:
			s.say("a former client gives its process up")
		default:
			s.toClient(o)
		}
	}
}

// toClient keeps what a client is told.
func (s *script) toClient(o Output) {
	switch o := o.(type) {
	case Spawn:
		text := "adopted, stream to " + s.names[o.Session]
		if o.TaskGroup != 0 {
			text += fmt.Sprintf(", group %d: %d", o.TaskGroup, o.Tasks)
		}
		s.steps[o.Client] = []string{text}
	case Started:
		s.tellClient(o.Client, "started")
	case Ended:
		text := fmt.Sprintf("is told: %#x", uint32(o.Report.Status))
		if u := o.Report.Usage; u != nil {
			text += fmt.Sprintf(", user %d us", u.User)
		}
		s.tellClient(o.Client, text)
	case Resume:
		s.tellClient(o.Client, "goes on, stream to "+s.names[o.Session])
	case Fail:
		s.tellClient(o.Client, strings.TrimSpace(fmt.Sprintf("failed: stage %d %s %s", o.Stage, unix.ErrnoName(o.Errno), o.Text)))
	}
}

func (s *script) tellClient(client Client, text string) {
	s.steps[client] = append(s.steps[client], text)
}

// logs prints warnings and errors of the log.
func (s *script) logs(o Log) {
	if o.Level < Warning {
		return
	}
	text := fmt.Sprintf("log level=%s msg=%q", map[Level]string{Warning: "WARN", Error: "ERROR"}[o.Level], o.Text)
	for i := 0; i+1 < len(o.Args); i += 2 {
		value := fmt.Sprint(o.Args[i+1])
		if strings.ContainsAny(value, " \"=") || value == "" {
			value = strconv.Quote(value)
		}
		text += fmt.Sprintf(" %v=%s", o.Args[i], value)
	}
	s.say("%s", text)
}

func (s *script) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// verbs are the inputs. Numbers of processes and nodes are plain; errors and signals have the names
// of errno(3) and signal(7). After the operands follow options: a word and its value.
var verbs = map[string]func(s *script, args []string){
	// Nodes and their sessions.
	"node":    (*script).addNode,    // ID [mode BITS] [uid N] [gid N] [trust WORD] [has FIRST+COUNT,...]: it has joined, and has these blocks from a former master
	"up":      (*script).up,         // SESSION ID [booted ID] [space N] [pids N[#BIRTH][^PARENT],...] [starting N,...] [stopped N,...] [blocks FIRST+COUNT,...]: its inventory comes
	"again":   (*script).again,      // EVENT; EVENT...: what the next session reports again
	"taken":   (*script).taken,      // SESSION PID NUMBER [boot N]: a process has its signals
	"end":     (*script).end,        // SESSION: its link has ended
	"cut":     (*script).cut,        // SESSION: its connection is lost
	"heal":    (*script).heal,       // SESSION: its connection is back
	"events":  (*script).events,     // SESSION [from NUMBER:] EVENT; EVENT; ...
	"call":    (*script).call,       // SESSION NUMBER CALLER CALL [ARGUMENT...] [info yes]
	"wanted":  (*script).wanted,     // SESSION BLOCKS: asks for numbers
	"return":  (*script).blocksBack, // SESSION FIRST+COUNT...: gives numbers back
	"leaves":  (*script).leaves,     // SESSION [empty]: its daemon ends, with all processes
	"strange": (*script).strange,    // SESSION: sends a message that no slave may send
	"set":     (*script).setNode,    // ID by UID/GID [state WORD] [drain yes|no] [trust WORD] [mode BITS] [uid N] [gid N]
	"revoke":  (*script).revoke,     // ID: its identity is forgotten
	"script":  (*script).setUps,     // yes|no: whether nodes that connect from now on are set up
	"setup":   (*script).setUpEnds,  // ID [before] [WORD...]: its script, or that of the attempt before, has ended; the words say why it has failed
	"powered": (*script).powered,    // SESSION ACTION [WORD...]: its command has ended; the words say why it has failed
	"power":   (*script).powerOn,    // ID: is to be switched on
	"restart": (*script).restart,    // another master begins
	"nodes":   (*script).listNodes,  // the node table
	"after":   (*script).after,      // DURATION: time passes, and a tick comes
	"soon":    (*script).soon,       // batched news is due

	// Clients.
	"run":      (*script).run,          // GHOST NODE [by PID] [uid N] [gid N] [hangup yes] [again yes] [launch N] [report yes] [ends yes]
	"too":      (*script).tooLong,      // long GHOST: no slave can be asked for it
	"nest":     (*script).nest,         // see nest
	"away":     (*script).clientAway,   // GHOST [told yes]: its client has lost the connection
	"nothing":  (*script).nothing,      // SESSION GHOST launch N [uid N]: its client has come back to it, and the node has nothing of it
	"attach":   (*script).attaches,     // GHOST [launch N] [by SESSION]: its client has come back, and wants to know how it ends
	"left":     (*script).clientLeaves, // GHOST [before yes] [last yes] [told yes]: its client, or a former connection of it, or the last that has come back, has closed the connection
	"reparent": (*script).reparent,     // GHOST PARENT: its client has ended after that, and the ghost has another parent
	"ps":       (*script).ps,           // the process table

	// The keeper.
	"adopt":  (*script).adopt,  // PID PARENT [hangup yes] [birth N] [space N]: how a ghost of "held" was adopted
	"held":   (*script).held,   // PID[@NODE]... [stopped PID...]: ghosts that a keeper holds since a former master, of node 0 or another; -1: of no node
	"done":   (*script).done,   // REQUEST PID [ERRNO]: answers
	"signal": (*script).signal, // PID SIGNAL [from PID] [seq N] [for group]: from a process, or (0) from the kernel; without: the sender is not known
	"gone":   (*script).gone,   // PID [asked no]
	"boot":   (*script).boot,   // N: the boot of the front end
	"lost":   (*script).lose,   // it takes no more messages
	"back":   (*script).back,   // [PID...] [stopped PID...]: another keeper connects, which holds these

	// The front end.
	"proc": (*script).proc, // PID [parent N] [pgid N] [sid N] [uid N] [limit N] [cgroup PATH]: there is such a process, or it has changed
	"none": (*script).none, // PID: it has ended

	"cgroup":  (*script).cgroup,  // PATH ID MAX NOW: there is such a control group, or it has changed; MAX 0: no bound
	"ghosts":  (*script).ghosts,  // PATH: the control group for ghosts
	"bounded": (*script).bounded, // SESSION UID ID TASKS: a node keeps to what it may have
}

func (s *script) input(verb string, args []string) []string {
	f := verbs[verb]
	if f == nil {
		s.Fatalf("unknown input %q", verb)
	}
	s.lines = nil
	f(s, args)
	s.tellClients()
	for _, name := range slices.Sorted(maps.Keys(s.sessions)) {
		id := s.sessions[name].id
		if at := s.placed[id]; at != s.barriers[id] {
			s.say("%s barrier at %d", name, at)
			s.barriers[id] = at
		}
	}
	return s.lines
}

// inputs gives the core some inputs.
func (s *script) inputs(lines ...string) {
	for _, line := range lines {
		words := strings.Fields(line)
		s.input(words[0], words[1:])
	}
}

// tellClients prints what clients are told.
func (s *script) tellClients() {
	for _, pid := range slices.Sorted(maps.Keys(s.launches)) {
		client := s.launches[pid].Client
		for _, text := range s.steps[client] {
			s.say("client %d %s", pid, text)
		}
		delete(s.steps, client)
	}
}

func (s *script) number(word string) int {
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		s.Fatal(err)
	}
	return int(n)
}

// birth returns the number of a birth; without another it is that of the process.
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

// text is word for an option that may be missing.
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

// fromNode has a slave send a message.
func (s *script) fromNode(sess *session, number uint64, m wire.Message) {
	s.step(FromNode{sess.id, number, m})
}

func (s *script) addNode(args []string) {
	id := wire.NodeID(s.number(args[0]))
	n, err := s.joined("key "+args[0], "", id, "")
	if err != nil {
		s.Fatal(err)
	}
	n.Home, n.Name = wire.Block{}, ""
	s.core.alloc.LeaveHome(id)
	n.Trust = cmp.Or(s.text(args, "trust"), trustFull)
	n.Mode = uint32(s.option(args, "mode", 0o111))
	n.UID, n.GID = uint32(s.option(args, "uid", 0)), uint32(s.option(args, "gid", 0))
	s.do(func() { s.core.keepNodes(blocksSet(id), n) })
	if blocks, ok := s.word(args, "has"); ok {
		s.core.blocks.of[id] = s.blocks(strings.Split(blocks, ","))
		if err := s.core.blocks.reserve(s.core.alloc); err != nil {
			s.Fatal(err)
		}
	}
}

// joined has a machine join.
func (s *script) joined(key, host string, want wire.NodeID, name string) (*node, error) {
	s.sent = nil
	s.step(Join{Identity: key, Host: host, Want: want, Name: name})
	return s.joinedAs()
}

// joinedAs returns the answer to the last machine that joined.
func (s *script) joinedAs() (*node, error) {
	for _, o := range s.sent {
		if o, ok := o.(Joined); ok {
			if o.Err != nil {
				return nil, o.Err
			}
			return s.core.nodes.byID[o.Node], nil
		}
	}
	s.Fatal("no answer to a machine that joins")
	return nil, nil
}

func (s *script) up(args []string) {
	name := args[0]
	var inventory wire.Inventory
	if pids, ok := s.word(args, "pids"); ok {
		for word := range strings.SplitSeq(pids, ",") {
			word, parent, _ := strings.Cut(word, "^")
			pid, birth, _ := strings.Cut(word, "#")
			inventory.PIDs = append(inventory.PIDs, s.pid(pid))
			inventory.Births = append(inventory.Births, s.birth(pid, birth))
			inventory.Parents = append(inventory.Parents, s.pid(cmp.Or(parent, "0")))
		}
	}
	if blocks, ok := s.word(args, "blocks"); ok {
		inventory.Blocks = s.blocks(strings.Split(blocks, ","))
	}
	if pids, ok := s.word(args, "starting"); ok {
		inventory.Starting = s.pids(strings.Split(pids, ","))
	}
	if pids, ok := s.word(args, "stopped"); ok {
		inventory.Stopped = s.pids(strings.Split(pids, ","))
	}
	inventory.Again = uint64(len(s.retold))
	inventory.Space = uint64(s.option(args, "space", 1))
	again := s.retold
	s.retold = nil
	_ = s.comesFrom(name, s.number(args[1]), s.text(args, "booted"), inventory, again) // the transcript says why a session is refused
}

// comes begins a session of a node. If it is refused, its link ends.
func (s *script) comes(name string, node int, inventory wire.Inventory, again []wire.Event) (refused error) {
	return s.comesFrom(name, node, "", inventory, again)
}

// comesFrom is comes for a machine whose boot is known.
func (s *script) comesFrom(name string, node int, boot string, inventory wire.Inventory, again []wire.Event) (refused error) {
	id := Session(len(s.names) + 1)
	s.names[id] = name
	s.sent = nil
	s.step(NodeUp{Session: id, Peer: Peer{Key: fmt.Sprintf("key %d", node), Addr: name, BootID: boot}, Inventory: inventory, Again: again})
	s.sessions[name] = s.core.sessions[id]
	for _, o := range s.sent {
		if o, ok := o.(CloseSession); ok && o.Session == id {
			refused = o.Cause
		}
	}
	if refused != nil {
		s.step(NodeLost{id, refused})
	}
	return refused
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
	s.fromNode(s.session(args[0]), 0, &wire.BlocksReturned{Blocks: s.blocks(args[1:])})
}

func (s *script) end(args []string) { s.step(NodeLost{s.session(args[0]).id, ErrUnexpected}) }

func (s *script) cut(args []string) { s.step(NodeCut{s.session(args[0]).id}) }

func (s *script) heal(args []string) { s.step(NodeHealed{Session: s.session(args[0]).id}) }

func (s *script) after(args []string) {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		s.Fatal(err)
	}
	s.now = s.now.Add(d)
	s.step(Tick{})
}

func (s *script) soon([]string) { s.step(News{}) }

func (s *script) wanted(args []string) {
	s.fromNode(s.session(args[0]), 0, &wire.BlocksWanted{Blocks: uint32(s.number(args[1]))})
}

func (s *script) leaves(args []string) {
	s.fromNode(s.session(args[0]), 0, &wire.Leaving{Empty: len(args) > 1})
}

func (s *script) strange(args []string) { s.fromNode(s.session(args[0]), 0, new(wire.KillAll)) }

func (s *script) setNode(args []string) {
	uid, gid, _ := strings.Cut(args[2], "/")
	who := Caller{UID: uint32(s.number(uid)), GID: uint32(s.number(gid))}
	m := wire.SetNodes{Nodes: []wire.NodeID{wire.NodeID(s.number(args[0]))}}
	if state, ok := s.word(args[3:], "state"); ok {
		m.State = &state
	}
	if trust, ok := s.word(args[3:], "trust"); ok {
		m.Trust = &trust
	}
	if word, ok := s.word(args[3:], "drain"); ok {
		drain := word == "yes"
		m.Drain = &drain
	}
	for name, field := range map[string]**uint32{"mode": &m.Mode, "uid": &m.UID, "gid": &m.GID} {
		if word, ok := s.word(args[3:], name); ok {
			n := uint32(s.number(word))
			*field = &n
		}
	}
	s.set(who, m)
}

// set changes a node. It returns the error number of the answer.
func (s *script) set(who Caller, m wire.SetNodes) unix.Errno {
	return s.replied(SetNodes{Who: who, Change: m})
}

// replied returns the error number of the reply to an input.
func (s *script) replied(in Input) unix.Errno {
	s.sent = nil
	s.step(in)
	for _, o := range s.sent {
		if o, ok := o.(Reply); ok {
			errno, _ := failure(o)
			return errno
		}
	}
	s.Fatal("no reply")
	return 0
}

// failure returns the first error of a reply; 0: there is none.
func failure(r Reply) (unix.Errno, string) {
	switch m := r.Message.(type) {
	case *wire.Failed:
		return unix.Errno(m.Errno), m.Text
	case *wire.NodesSet:
		if len(m.Failed) > 0 {
			return unix.Errno(m.Failed[0].Errno), m.Failed[0].Text
		}
	}
	return 0, ""
}

func (s *script) revoke(args []string) { s.step(Revoke{Node: wire.NodeID(s.number(args[0]))}) }

func (s *script) listNodes([]string) {
	for _, r := range s.core.NodeList() {
		why := ""
		if r.Reason != "" {
			why = ": " + r.Reason
		}
		s.say("%d %s mode %#o uid %d gid %d, %d processes, since %d%s", r.ID, r.State, r.Mode, r.UID, r.GID, r.Procs, r.Since, why)
	}
}

func (s *script) run(args []string) {
	who := Caller{PID: wire.PID(s.option(args, "by", 100)), UID: uint32(s.option(args, "uid", 1000)), GID: uint32(s.option(args, "gid", 1000))}
	_, hangUp := s.word(args, "hangup")
	_, again := s.word(args, "again")
	_, report := s.word(args, "report")
	_, ends := s.word(args, "ends")
	s.launch(Run{Who: who, Report: report, Ends: ends, Node: wire.NodeID(s.number(args[1])), PID: s.pid(args[0]), Launch: s.birth(args[0], s.text(args, "launch")), HangUp: hangUp, Again: again})
}

// launch has a client ask for a process.
func (s *script) launch(in Run) {
	s.clients++
	in.Client = s.clients
	_, in.GhostExists = s.front.procs[in.PID]
	in.Limit = s.front.procs[in.Who.PID].limit
	if old, ok := s.launches[in.PID]; ok {
		delete(s.steps, old.Client)
	}
	s.launches[in.PID] = in
	s.step(in)
}

func (s *script) tooLong(args []string) {
	l := s.launches[s.pid(args[1])]
	s.step(Refuse{Client: l.Client, PID: l.PID, Launch: l.Launch, Stage: wire.StageSpawn, Errno: unix.E2BIG})
}

func (s *script) clientAway(args []string) {
	pid := s.pid(args[0])
	s.step(ClientAway{Client: s.core.procs[pid].client, PID: pid, Told: s.text(args, "told") != ""})
}

func (s *script) attaches(args []string) {
	l := s.launches[s.pid(args[0])]
	s.clients++
	l.Client, l.PID = s.clients, s.pid(args[0])
	s.launches[l.PID] = l
	var session Session
	if by := s.text(args, "by"); by != "" {
		session = s.session(by).id
	} else if p := s.core.procs[l.PID]; p != nil {
		session = p.sess.id
	}
	s.step(ClientAttached{Session: session, Client: l.Client, Parent: l.Who.PID, PID: l.PID, Launch: s.birth(args[0], s.text(args, "launch")), Report: true})
}

func (s *script) nothing(args []string) {
	uid := 1000
	if text := s.text(args, "uid"); text != "" {
		uid = s.number(text)
	}
	s.step(ClientRefused{Session: s.session(args[0]).id, UID: uint32(uid), PID: s.pid(args[1]), Launch: s.birth(args[1], s.text(args, "launch"))})
}

func (s *script) clientLeaves(args []string) {
	pid := s.pid(args[0])
	client := Client(1 << 40) // of a connection that is gone
	if p := s.core.procs[pid]; p != nil && s.text(args, "before") == "" {
		client = p.client
	}
	if s.text(args, "last") != "" {
		client = s.launches[pid].Client
	}
	s.step(ClientLeft{Client: client, PID: pid, Told: s.text(args, "told") != ""})
}

func (s *script) reparent(args []string) {
	if number, ok := s.left[s.pid(args[0])]; ok {
		delete(s.left, s.pid(args[0]))
		s.step(Answer{Number: number, PID: s.pid(args[1])})
	}
}

func (s *script) ps([]string) {
	for _, p := range s.core.Procs() {
		s.say("%d on node %d", p.PID, p.Node)
	}
	s.say("%d in the table", s.core.Size())
}

func (s *script) held(args []string) {
	nodes := map[wire.PID]wire.NodeID{}
	for i, word := range args {
		if pid, node, ok := strings.Cut(word, "@"); ok {
			args[i] = pid
			nodes[s.pid(pid)] = wire.NodeID(s.number(node))
		}
	}
	pids, stopped := s.halves(args)
	var held []Held
	for _, pid := range pids {
		h := Held{PID: pid, UID: s.front.procs[pid].uid, Limit: s.front.procs[pid].limit, Adopted: wire.Adopted{PID: pid, Space: 1}}
		if i := slices.IndexFunc(s.adopted, func(how wire.Adopted) bool { return how.PID == pid }); i >= 0 {
			h.Adopted = s.adopted[i]
		}
		if pid < pidmap.Node {
			h.Adopted.Birth = cmp.Or(h.Adopted.Birth, uint64(pid))
		}
		if nodes[pid] >= 0 {
			h.Adopted.Owner = ownership(nodes[pid], 1000)
		}
		held = append(held, h)
	}
	s.step(KeeperFound{Held: held, Stopped: stopped, Boot: s.core.boot})
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

// done answers the oldest request of a name, which is the type of the message and the process that
// it is about.
func (s *script) done(args []string) {
	name := args[0] + " " + args[1]
	i := slices.IndexFunc(s.asked, func(q question) bool { return q.name == name })
	if i < 0 {
		s.Fatalf("no request %q; there are %v", name, s.asked)
	}
	q := s.asked[i]
	s.asked = slices.Delete(s.asked, i, i+1)
	s.step(FromKeeper{q.number, &wire.GhostDone{Errno: uint32(s.errno(args[2:]))}})
}

// answerNext has the keeper answer its oldest request.
func (s *script) answerNext(errno unix.Errno) {
	if len(s.asked) == 0 {
		return
	}
	q := s.asked[0]
	s.asked = s.asked[1:]
	s.step(FromKeeper{q.number, &wire.GhostDone{Errno: uint32(errno)}})
}

func (s *script) signal(args []string) {
	info := wire.KernelSignal(unix.SignalNum(args[1]))
	if from := s.option(args, "from", -1); from != 0 {
		binary.LittleEndian.PutUint32(info[8:], 0) // SI_USER
		binary.LittleEndian.PutUint32(info[16:], uint32(max(0, from)))
	}
	s.step(FromKeeper{0, &wire.GhostSignal{PID: s.pid(args[0]), Info: info, Seq: uint64(s.option(args, "seq", 0)), Group: slices.Contains(args, "group")}})
}

func (s *script) boot(args []string) { s.core.boot = uint64(s.number(args[0])) }

func (s *script) gone(args []string) {
	_, unasked := s.word(args, "asked")
	s.step(FromKeeper{0, &wire.GhostGone{PID: s.pid(args[0]), Asked: !unasked}})
}

func (s *script) lose([]string) { s.lost = true }

func (s *script) back(args []string) {
	held, stopped := s.halves(args)
	s.keeperBack(held, stopped)
}

// keeperBack has another keeper connect.
func (s *script) keeperBack(held, stopped []wire.PID) {
	s.asked, s.lost = nil, false
	s.step(KeeperBack{Boot: s.core.boot, Held: held, Stopped: stopped})
}
