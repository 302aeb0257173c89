package bpsh

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// Options of srun(1) without effect: bproc has no partitions, accounts, allocations or queue, and
// does not allot processors, memory and other resources.
const (
	srunIgnored = `
		account/A acctg-freq bb bbf cluster-constraint clusters/M comment core-spec/S
		cores-per-socket cpu-bind cpu-freq cpu_bind cpus-per-gpu cpus-per-task/c deadline delay-boot
		distribution/m extra extra-node-info/B gpu-bind gpu-freq gpus/G gpus-per-node
		gpus-per-socket gpus-per-task gres gres-flags hint job-name/J jobid licenses/L mail-type
		mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus msg-timeout network
		ntasks-per-core ntasks-per-gpu ntasks-per-socket partition/p power prefer priority profile
		qos/q reservation sockets-per-node switches thread-spec threads/T threads-per-core time-min
		tmp treewidth tres-bind tres-per-task wait/W wckey`
	srunIgnoredAlone = `
		contiguous disable-status/X exact external-launcher no-allocate/Z no-kill/k overcommit/O
		overlap oversubscribe/s preserve-env/E quiet/Q quit-on-interrupt spread-job unbuffered/u
		use-min-nodes verbose/v`
	// Those whose value may be absent.
	srunIgnoredBoth = `compress exclusive immediate nice oom-kill-step propagate resv-ports send-libs`
)

// srunRefused has reasons why there are no such options of srun: a command would not do what it is
// meant to do without them. A = follows an option that has a value.
var srunRefused = map[string]string{
	"output/o=":     "redirect the output of srun by >, or use -O of bpsh",
	"error/e=":      "redirect the errors of srun by 2>, or use -E of bpsh",
	"open-mode=":    "redirect the output of srun by > or >>",
	"multi-prog":    "a command can tell by $SLURM_PROCID what it has to do",
	"bcast":         "bpcp(1) copies files to nodes",
	"test-only":     "there is no queue",
	"hold/H":        "there is no queue",
	"begin/b=":      "there is no queue: commands start at once",
	"dependency/d=": "there is no queue: commands start at once",
	"signal=":       "no signal comes before the end of --time",
	"relative/r=":   "--nodelist chooses nodes",
	"container=":    "commands run in the system of their node",
	"het-group=":    "all commands are the same",
	"prolog=":       "the command can be a script",
	"epilog=":       "the command can be a script",
	"task-prolog=":  "the command can be a script",
	"task-epilog=":  "the command can be a script",
	"uid=":          "sudo(8) changes the user",
	"gid=":          "sudo(8) changes the group",
	"x11":           "displays are not forwarded",
}

// others adds the options that have no effect or are refused.
func others(f *pflag.FlagSet) {
	each := func(names string, add func(name, letter string)) {
		for option := range strings.FieldsSeq(names) {
			name, letter, _ := strings.Cut(option, "/")
			add(name, letter)
			f.Lookup(name).Hidden = true
		}
	}
	each(srunIgnored, func(name, letter string) { f.StringP(name, letter, "", "") })
	each(srunIgnoredAlone, func(name, letter string) { f.BoolP(name, letter, false, "") })
	each(srunIgnoredBoth, func(name, letter string) {
		f.StringP(name, letter, "", "")
		f.Lookup(name).NoOptDefVal = "yes"
	})
	for option, reason := range srunRefused {
		refuse := func(string) error { return errors.New("not here: " + reason) }
		option, hasValue := strings.CutSuffix(option, "=")
		each(option, func(name, letter string) {
			if hasValue {
				f.FuncP(name, letter, "", refuse)
			} else {
				f.BoolFuncP(name, letter, "", refuse)
			}
		})
	}
}
