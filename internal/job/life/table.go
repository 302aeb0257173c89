package life

// Event is the name of a transition, for logs and programs.
type Event string

// action is what a transition does.
type action uint8

const (
	begin   action = iota + 1 // a run: its hook, or its process
	retry                     // the same, because of the rule
	launch                    // the process, after its hook
	stand                     // the process runs
	end                       // what is there is to end
	ask                       // ask the process to end
	endAnew                   // the same, and start it then
	press                     // the next step of a shutdown, or the end of a hook that takes too long
	anew                      // it is wanted again when it has ended
	forGood                   // it is not
	rest                      // nothing is under way
	wait                      // until the rule lets it be started again
	resume                    // begin if it is wanted again, otherwise rest
	already                   // the request changes nothing
)

// cell is what comes of a kind of input in a state. An empty cell: it cannot come, or means nothing.
// A cell without an event is no transition.
type cell struct {
	to    State
	event Event
	does  action
}

// table has all transitions. What ends while it is stopping goes back to starting if it is wanted
// again (the event is then "restarted"): see resume.
var table = map[State]map[kind]cell{
	Created: {
		start:   {Starting, "start", begin},
		restart: {Starting, "start", begin},
		stop:    {Created, "", already},
	},
	Starting: {
		start:   {Starting, "", already},
		stop:    {Stopping, "stop", end},
		restart: {Stopping, "stop", endAnew},
		hooked:  {Starting, "", launch},
		started: {Running, "started", stand},
		failed:  {Failed, "start-failed", rest},
		again:   {Waiting, "restart-wait", wait},
		due:     {Starting, "", press},
	},
	Running: {
		start:    {Running, "", already},
		stop:     {Stopping, "stop", end},
		restart:  {Stopping, "stop", endAnew},
		finished: {Finished, "finished", rest},
		failed:   {Failed, "failed", rest},
		again:    {Waiting, "restart-wait", wait},
	},
	Stopping: {
		start:    {Stopping, "", anew},
		restart:  {Stopping, "", anew},
		stop:     {Stopping, "", forGood},
		started:  {Stopping, "", ask},
		finished: {Stopped, "stopped", resume},
		failed:   {Stopped, "stopped", resume},
		due:      {Stopping, "", press},
	},
	Stopped: {
		start:   {Starting, "start", begin},
		restart: {Starting, "start", begin},
		stop:    {Stopped, "", already},
	},
	Finished: {
		start:   {Starting, "start", begin},
		restart: {Starting, "start", begin},
		stop:    {Finished, "", already},
	},
	Failed: {
		start:   {Starting, "start", begin},
		restart: {Starting, "start", begin},
		stop:    {Failed, "", already},
	},
	Waiting: {
		start:   {Starting, "start", begin},
		restart: {Starting, "start", begin},
		due:     {Starting, "restart", retry},
		stop:    {Stopped, "stopped", rest},
	},
}
