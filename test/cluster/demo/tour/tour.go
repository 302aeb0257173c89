// Package tour has the steps of the demonstration.
package tour

import (
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
)

// Nodes is the number of nodes of the demonstration's cluster.
const Nodes = 3

// Step is a shell line for the front end, as root, its description, and a regular expression that
// its output must match.
type Step struct{ Say, Do, Shows string }

// Steps are shown in this order. The view of bpprocfs(8) is where bpns(1) looks for it.
var Steps = []Step{
	{
		"The nodes of this cluster.",
		`bpstat`,
		`^Node\(s\) .*\n0-2 +up .*\n$`,
	},
	{
		"A command on all of them.",
		`bpsh -a -p hostname`,
		`^( *[012]: n[012]\n){3}$`,
	},
	{
		"A remote process has a number of the front end. Its exit status arrives.",
		`bpsh 2 sh -c 'echo "I am $$ on $(hostname)"; exit 7'; echo "exit status $?"`,
		`^I am [0-9]+ on n2\nexit status 7\n$`,
	},
	{
		"Its children have numbers, too. This is plain ps, on the front end.",
		`bpsh 0-1 sh -c 'sleep 100 & wait' & until [ $(pgrep -xc sleep) = 2 ]; do :; done; ps -C bpsh,sh,sleep --forest -o pid,ppid,stat,args`,
		`^ +PID +PPID STAT COMMAND\n` +
			` *([0-9]+) .* bpsh 0-1 sh -c sleep 100 & wait\n` +
			`( *[0-9]+ +[0-9]+ \S+ +\\_ sh -c sleep 100 & wait\n *[0-9]+ +[0-9]+ \S+ +[|]? +\\_ sleep 100\n){2}$`,
	},
	{
		"In bpns, /proc shows what is on the nodes.",
		`bpns ps -C sleep -o pid,ppid,stat,rss,time,args; bpns grep BProcNode $(pgrep -x sleep | sed 's,.*,/proc/&/status,')`,
		`^ +PID +PPID STAT +RSS +TIME COMMAND\n( *[0-9]+ +[0-9]+ SN? +[0-9]{3,} [0-9:]{8} sleep 100\n){2}` +
			`/proc/[0-9]+/status:BProcNode:\t[01]\n/proc/[0-9]+/status:BProcNode:\t[01]\n$`,
	},
	{
		"Kill one here, and it is gone there: every signal is forwarded.",
		`pkill -x sleep; pidwait -x bpsh; bpsh -a -p sh -c 'pgrep -x sleep || echo no sleep here'`,
		`^( *[012]: no sleep here\n){3}$`,
	},
}

// Take takes the step: run runs its line with an output. The output is a file, because some
// processes of a line go on after its shell has ended. Take returns the output up to then, also
// with an error, which means that the shell failed or the output does not match.
func (s Step) Take(run func(line string, out *os.File) error) (string, error) {
	out, err := os.CreateTemp("", "tour-")
	if err != nil {
		return "", err
	}
	defer out.Close()
	if err := os.Remove(out.Name()); err != nil {
		return "", err
	}
	err = run(s.Do, out)
	shown, readErr := readAll(out)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", s.Do, err)
	case readErr != nil:
		err = readErr
	case !regexp.MustCompile(s.Shows).MatchString(shown):
		err = fmt.Errorf("%s: its output does not match %s", s.Do, s.Shows)
	}
	return shown, err
}

// readAll reads a file from its beginning, whatever its offset.
func readAll(f *os.File) (string, error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, math.MaxInt64))
	return string(text), err
}
