package bpsh

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"time"
	"unicode/utf8"

	"bproc/internal/client"
)

// result describes the end of a command; --json prints it on one line.
type result struct {
	Node     client.NodeID `json:"node"` // -1: the front end
	Rank     int           `json:"rank"`
	PID      client.PID    `json:"pid,omitempty"`
	Exit     *int          `json:"exit,omitempty"`
	Signal   string        `json:"signal,omitempty"`
	TimedOut bool          `json:"timed_out,omitempty"`
	Error    string        `json:"error,omitempty"`          // why it did not start, or its output was lost
	Seconds  float64       `json:"seconds"`                  // from the request to the end
	User     *float64      `json:"user_seconds,omitempty"`   // of processor time
	System   *float64      `json:"system_seconds,omitempty"` // of processor time in the kernel
	MaxRSS   *uint64       `json:"max_rss_kib,omitempty"`    // of the largest process
	Stdout   string        `json:"stdout"`
	Stderr   string        `json:"stderr"`
	Base64   bool          `json:"base64,omitempty"` // stdout and stderr are in base64, since one of them is not UTF-8
}

// text enters the outputs as text or, if one of them is not UTF-8, in base64.
func (r *result) text(stdout, stderr []byte) {
	if utf8.Valid(stdout) && utf8.Valid(stderr) {
		r.Stdout, r.Stderr = string(stdout), string(stderr)
		return
	}
	r.Base64 = true
	r.Stdout, r.Stderr = base64.StdEncoding.EncodeToString(stdout), base64.StdEncoding.EncodeToString(stderr)
}

// report prints the result of a command that has ended or did not start.
func (s *session) report(j *job, took time.Duration) error {
	var stdout, stderr bytes.Buffer
	j.outlet.spool.out = [2]io.Writer{&stdout, &stderr}
	if err := j.outlet.spool.release(); err != nil {
		return err
	}
	r := result{Node: j.cmd.Node, Rank: j.rank, PID: j.cmd.PID, Seconds: took.Seconds(), TimedOut: j.timedOut}
	switch {
	case j.err != nil:
		r.Error = j.err.Error()
	default:
		if code, ok := j.status.Exited(); ok {
			r.Exit = &code
		} else if sig, ok := j.status.Signaled(); ok {
			r.Signal = signalName(sig)
		}
	}
	if u := j.cmd.Usage; u != nil {
		user, system := seconds(u.User), seconds(u.System)
		r.User, r.System, r.MaxRSS = &user, &system, &u.MaxRSS
	}
	r.text(stdout.Bytes(), stderr.Bytes())
	line, err := json.Marshal(&r)
	if err != nil {
		return err
	}
	_, err = s.shell.Stdout.Write(append(line, '\n'))
	return err
}
