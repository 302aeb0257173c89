package stdio

import (
	"testing"
	"time"

	"bproc/test/limit"
	"bproc/wire"
)

// patientClient is a connection that can write late.
type patientClient struct {
	*client
	meanwhile func() // happens while a frame is written late
	written   chan string
}

func newPatientClient() *patientClient {
	return &patientClient{newClient(), func() {}, make(chan string, 10)}
}

func (c *patientClient) Write(p []byte) (int, error) {
	c.written <- "at once: " + string(p)
	return len(p), nil
}

func (c *patientClient) WriteLate(p []byte) (int, error) {
	c.written <- "late: " + string(p)
	c.meanwhile()
	return len(p), nil
}

func (c *patientClient) Hurry() { c.written <- "hurry" }

// TestEndOfOutputIsLate: the end of output waits for the end of the process, unless that is known.
func TestEndOfOutputIsLate(t *testing.T) {
	const pid = 4711
	end := string(wire.AppendData(nil, wire.TypeStdout, 77, nil))
	for _, test := range []struct {
		name     string
		known    bool // before the output ends
		comes    bool // while the end of the output is written
		writings []string
	}{
		{"it goes on", false, false, []string{"late: " + end}},
		{"it has ended", true, false, []string{"at once: " + end}},
		{"it ends meanwhile", false, true, []string{"late: " + end, "hurry"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := ways(t)
			d := enterWith(t, s, pid, 1, [3]wire.DescriptorMode{1: wire.DescriptorStream})
			c := newPatientClient()
			if err := d.Attach(NewClient(c), [2]uint64{}, func(uint64) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if test.known {
				s.Ends(pid)
			}
			if test.comes {
				c.meanwhile = func() { s.Ends(pid) }
			}
			d.CloseFar()
			d.Run()
			for _, want := range test.writings {
				select {
				case got := <-c.written:
					if got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				case <-time.After(limit.Scaled(15 * time.Second)):
					t.Fatalf("no %q", want)
				}
			}
			d.Close()
			s.work.Wait()
			if len(c.written) > 0 {
				t.Errorf("then %q", <-c.written)
			}
		})
	}
}
