package bproc

import "bproc/internal/client"

// The client, commands, and the nouns of the cluster.
type (
	Client     = client.Client
	Cmd        = client.Cmd
	NodeID     = client.NodeID
	PID        = client.PID
	Status     = client.Status
	Node       = client.Node
	NodeChange = client.NodeChange
	Enrolment  = client.Enrolment
	Proc       = client.Proc
)

// FrontEnd is the node number of the front end.
const FrontEnd = client.FrontEnd

// What can go wrong.
type (
	Error     = client.Error
	Stage     = client.Stage
	ExitError = client.ExitError
)

// The stages at which a request can fail.
const (
	StageRequest = client.StageRequest // the master does not take it
	StageNode    = client.StageNode    // the node is unknown, down, or not the caller's to use
	StageGhost   = client.StageGhost   // the ghost could not be adopted
	StageSpawn   = client.StageSpawn   // the node could not make the process
	StageExec    = client.StageExec    // the command could not be executed
	StageFile    = client.StageFile    // a file of the node could not be opened
)

// Errors of the way to the master.
var (
	ErrNoMaster = client.ErrNoMaster
	ErrLost     = client.ErrLost
)
