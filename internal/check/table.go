package check

import "context"

// check is one check.
type check struct {
	of   Side // empty: both sides
	name string
	look func(context.Context, *subject) Result
}

// table has all checks in the order in which they are made. Checks of basic features come first.
var table = []check{
	{"", "kernel", kernelVersion},
	{"", "privileges", privileges},
	{"", "process numbers", processNumbers},
	{"", "pid_max", pidMax},
	{"", "ptrace", ptrace},
	{FrontEnd, "ghost image", ghostImage},
	{FrontEnd, "ghost capabilities", ghostCapabilities},
	{FrontEnd, "bpns", bpns},
	{Node, "pid namespaces", pidNamespaces},
	{Node, "close_range", closeRange},
	{Node, "seccomp", seccompNotification},
	{Node, "bpf", bpf},
	{Node, "jobs", jobs},
	{Node, "cgroups", cgroups},
	{Node, "pids controller", pidsController},
	{Node, "systemd", systemd},
	{"", "fuse", fuse},
	{FrontEnd, "view", view},
	{"", "tasks", tasks},
	{"", "descriptors", descriptors},
	{"", "state", state},
	{"", "releases", releases},
	{"", "configuration", configuration},
	{Node, "identity", identity},
	{Node, "name of the master", resolution},
	{FrontEnd, "port", listening},
	{Node, "master", reachable},
	{Node, "protocol", protocol},
	{Node, "clock", clock},
}
