package life

// Event is the name of a transition, for logs and programs.
type Event string

// action is the action of a transition.
type action uint8

const (
	begin     action = iota + 1 // begin a run: its hook, or its process
	retry                       // begin a run because of the rule
	limitHook                   // bound the time of the hook
	launch                      // launch the process, after its hook
	stand                       // the process runs
	end                         // end the hook or the process
	ask                         // ask the process to end
	endAnew                     // end it, and start it again afterwards
	press                       // next step of a shutdown, or end of a hook that takes too long
	anew                        // start it again when it has ended
	forGood                     // do not start it again
	rest                        // no activity
	wait                        // wait until the rule allows a restart
	resume                      // begin if a start was requested, otherwise rest
	already                     // report that the request has no effect
)

// cell is the effect of a kind of input in a state. An empty cell means that the input cannot come
// or has no effect. A cell without an event is not a transition.
type cell struct {
	to    State
	event Event
	does  action
}

// table has all transitions. A process that ends while stopping goes back to starting if a start
// was requested, with the event "restarted": see resume.
var table = map[State]map[kind]cell{
	Created: {
		start:   {Starting, "start", begin},
		restart: {Starting, "start", begin},
		stop:    {Created, "", already},
	},
	Starting: {
		start:     {Starting, "", already},
		stop:      {Stopping, "stop", end},
		restart:   {Stopping, "stop", endAnew},
		hookBegan: {Starting, "", limitHook},
		hooked:    {Starting, "", launch},
		started:   {Running, "started", stand},
		failed:    {Failed, "start-failed", rest},
		again:     {Waiting, "restart-wait", wait},
		due:       {Starting, "", press},
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
