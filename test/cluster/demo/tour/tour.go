// Package tour is what the demonstration shows.
package tour

// Nodes is how many the cluster of the demonstration has.
const Nodes = 3

// Step is a line of shell for the front end, as root, and what to say about it.
type Step struct{ Say, Do string }

// Steps are what is shown, one after the other. The view of bpprocfs(8) is where bpns(1)
// looks for it.
var Steps = []Step{
	{"The nodes of this cluster.", `bpstat`},
	{"A command on all of them.", `bpsh -a -p hostname`},
	{
		"A remote process has a number of the front end. Its exit status arrives.",
		`bpsh 2 sh -c 'echo "I am $$ on $(hostname)"; exit 7'; echo "exit status $?"`,
	},
	{
		"Its children have numbers, too. This is plain ps, on the front end.",
		`bpsh 0-1 sh -c 'sleep 100 & wait' & until [ $(pgrep -xc sleep) = 2 ]; do :; done; ps -C bpsh,sh,sleep --forest -o pid,ppid,stat,args`,
	},
	{
		"In bpns, /proc shows what is on the nodes.",
		`bpns ps -C sleep -o pid,ppid,stat,rss,time,args; bpns grep BProcNode $(pgrep -x sleep | sed 's,.*,/proc/&/status,')`,
	},
	{
		"Kill one here, and it is gone there: every signal is forwarded.",
		`pkill -x sleep; pidwait -x bpsh; bpsh -a -p sh -c 'pgrep -x sleep || echo no sleep here'`,
	},
}
