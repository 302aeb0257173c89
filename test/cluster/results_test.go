package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestResults checks bpsh's output about many commands, for people and for programs, and how bpsh
// ends the commands.
func TestResults(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	line := "\t" + strings.Repeat("-", 69) + "\n"
	for _, tt := range []struct {
		name           string
		line           string
		code           int
		stdout, stderr string
	}{
		{
			"the same once", "bpsh -g 0-3 sh -c 'seq 30000; [ $BPROC_RANK != 0000002 ] || echo more' | grep -v '^[0-9]*$'", 0,
			"0-1,3" + line + "2" + line + "more\n", "",
		},
		{
			"results", `bpsh --json 0-1 sh -c 'echo $BPROC_RANK; exit $BPROC_RANK' | sed 's/"pid":[0-9]*,//; s/"seconds":[^,]*,//; s/"user_seconds":[^,]*,"system_seconds":[^,]*,"max_rss_kib":[^,]*,//' | sort`, 0,
			`{"node":0,"rank":0,"exit":0,"stdout":"0000000\n","stderr":""}` + "\n" + `{"node":1,"rank":1,"exit":1,"stdout":"0000001\n","stderr":""}` + "\n", "",
		},
		{
			"descendants end in time", "bpsh --timeout 1s 0-1 sh -c 'sleep 1000 & sh -c \"sleep 1000 & wait\" & wait' 2>&1 | sort; exit ${PIPESTATUS[0]}", 124,
			"bpsh: node 0: timed out after 1s\nbpsh: node 1: timed out after 1s\n", "",
		},
		{
			"those that ignore SIGTERM, too", "bpsh --timeout 1s 0 sh -c 'trap \"\" TERM; sleep 1000 & echo up; while :; do wait; done'", 124,
			"up\n", "bpsh: node 0: timed out after 1s\n",
		},
		{
			"stopped ones", "bpsh --timeout 1s 0 sh -c 'kill -STOP $$; echo on'", 124, "", "bpsh: node 0: timed out after 1s\n",
		},
		{"in time", "bpsh --timeout 60s -k 0-1 sh -c 'echo done'", 0, "done\ndone\n", ""},
		{
			"the first failure ends all", "bpsh -k 0-3 sh -c 'case $BPROC_RANK in *2) exit 3; esac; sleep 1000'", 3,
			"", "bpsh: node 2: exit status 3; the other commands are ended\n",
		},
		{
			"commands find their place", "bpsh -sp --tasks-per-node 2 3,1 sh -c 'echo $SLURM_PROCID of $SLURM_NTASKS, $SLURM_LOCALID on $SLURM_NODEID'", 0,
			"  3: 0 of 4, 0 on 0\n  3: 1 of 4, 1 on 0\n  1: 2 of 4, 0 on 1\n  1: 3 of 4, 1 on 1\n", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := c.Front.Exec(t.Context(), cluster.Root, "bash", "-c", tt.line)
			if err != nil {
				t.Fatal(err)
			}
			if res.Code != tt.code || res.Stdout != tt.stdout || res.Stderr != tt.stderr {
				t.Errorf("got %+v, want code %d, %q and %q", res, tt.code, tt.stdout, tt.stderr)
			}
			wantIdle(t, c)
		})
	}
}

// TestProgress checks the line that shows what bpsh still waits for.
func TestProgress(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	s := newScreen(t, c)
	s.line("clear; bpsh -g 0-3 sh -c 'echo is here; case $BPROC_RANK in *[13]) echo bad >&2; exec sleep 1000; esac'")
	s.expect(`[13]: bad\n  [13]: bad\n2 of 4 have ended; left: 1,3$`)
	s.do("resize-window", "-x", "20", "-y", "24")
	s.expect(`^2 of 4 have ended;$`)
	s.do("resize-window", "-x", "80", "-y", "24")
	s.typ("", "C-c")
	s.expect(`bad\n(.*\n)?0-3\t?.*-{10,}\nis here\n(.*\n)?` + screenPrompt + `$`)
}

// TestUsage checks that bpsh reports the resources that a command and its children have used. A
// ghost has used none.
func TestUsage(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	const work = `head -c 100M /dev/zero | tail -c 64M >/dev/null; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 3`
	res, err := c.Front.Exec(t.Context(), cluster.Root, "bpsh", "-N", "--json", "0-1", "sh", "-c", work)
	if err != nil || res.Code != 3 {
		t.Fatalf("got %+v, %v", res, err)
	}
	for line := range strings.Lines(res.Stdout) {
		var used struct {
			Node   int
			User   float64 `json:"user_seconds"`
			System float64 `json:"system_seconds"`
			MaxRSS int     `json:"max_rss_kib"`
		}
		if err := json.Unmarshal([]byte(line), &used); err != nil {
			t.Fatal(err)
		}
		if used.User <= 0.02 || used.System <= 0 || used.MaxRSS < 64<<10 || used.MaxRSS > 256<<10 {
			t.Errorf("got %+v", used)
		}
	}
	res, err = c.Front.Exec(t.Context(), cluster.Root, "bpsh", "-t", "0", "sh", "-c", work)
	var elapsed, user, system float64
	var rss int
	if n, scanErr := fmt.Sscanf(res.Stderr, "%f %f user %f system %d KiB\n", &elapsed, &user, &system, &rss); n != 4 || err != nil || user <= 0.02 || rss < 64<<10 {
		t.Errorf("got %+v, %v, %v", res, err, scanErr)
	}
}
