package pid1_test

import "testing"

// Root of the space cannot change by a file what numbers processes get.
func TestFilesOfNumbersAreReadOnly(t *testing.T) {
	s := newSpace(t)
	for _, file := range []string{"/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/pid_max"} {
		p := command(70001, 0, 0, "sh", "-c", "read number <$0; echo $number >$0 && exit 3; exit 0", file)
		s.launch(p)
		if status := s.awaitStatus(p.PID, over); status != 0 {
			t.Errorf("%s: status %#x", file, status)
		}
	}
}
