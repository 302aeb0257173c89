package supervise

import "testing"

func TestNamesJob(t *testing.T) {
	for groups, want := range map[string]bool{
		"":               false,
		"0::/bproc/s/\n": false,
		"9:pids:/bproc/s/space/job-web:server\n0::/\n":      true,
		"0::/bproc/s/job-web:server:0123456789abcdef\n":     true,
		"0::/bproc/s/job-web:server/below\n":                true,
		"9:pids:/job-12/step:1\n0::/job-web:server/below\n": true,
		"9:pids:/job-12/step:1\n0::/\n":                     false, // of another job system
		"9:pids:/job-12\n8:cpu:/\n":                         false,
		"0::/job-web":                                       false,
	} {
		if got := namesJob([]byte(groups)); got != want {
			t.Errorf("%q: got %v", groups, got)
		}
	}
}
