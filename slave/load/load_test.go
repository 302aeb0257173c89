package load

import (
	"os"
	"path/filepath"
	"testing"

	"bproc/test/limit"
	"bproc/wire"
)

func TestMain(m *testing.M) { limit.Tests(m) }

func TestSample(t *testing.T) {
	s, err := Sample()
	if err != nil || s.Threads == 0 || s.Memory == 0 || s.Available == 0 || s.Available > s.Memory || s.Uptime == 0 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestParse(t *testing.T) {
	const average, mem = "0.10 12.345 100.00 3/456 789\n", "MemTotal:  1000 kB\nMemFree: x\nMemAvailable:  400 kB\nSwapTotal: 20 kB\nSwapFree: 10 kB\n"
	for _, tt := range []struct {
		name, average, mem string
		want               *wire.Sampled
	}{
		{"all", average, mem, &wire.Sampled{Averages: [3]uint32{10, 1235, 10000}, Running: 3, Threads: 456, Memory: 1000 << 10, Available: 400 << 10, Swap: 20 << 10, SwapFree: 10 << 10}},
		{"no average", "", mem, nil},
		{"averages that are none", "x y z 1/2 3", mem, nil},
		{"threads that are none", "1 2 3 4 5", mem, nil},
		{"no memory", average, "", nil},
		{"memory that is none", average, "MemTotal: -3 kB\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"loadavg": tt.average, "meminfo": tt.mem} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := sample(dir)
			if (err == nil) != (tt.want != nil) {
				t.Fatalf("got %+v, %v", got, err)
			}
			if err == nil {
				if got.Uptime = 0; *got != *tt.want {
					t.Errorf("got %+v, want %+v", got, tt.want)
				}
			}
		})
	}
}
