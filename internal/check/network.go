package check

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/link"
)

// askTime bounds a request to a master, or to the DNS, of which some servers may not answer.
const askTime = 16 * time.Second

// maxAhead is the clock difference beyond which times of remote processes are misleading.
const maxAhead = 2 * time.Second

// master returns HOST[:PORT] of a node's master: as given, else as in bpslave's command line, else
// as configured; "" if none of them has it.
func (s *subject) master() string {
	if s.Master != "" {
		return s.Master
	}
	if s.daemon != nil {
		if host := s.daemon.operand(); host != "" {
			return host
		}
	}
	host, err := s.configured()
	if err != nil {
		return ""
	}
	return host
}

// address returns HOST and PORT.
func address(master string) (host, port string) {
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return strings.Trim(master, "[]"), link.DefaultPort // as bpslave does
	}
	return host, port
}

func resolution(ctx context.Context, s *subject) Result {
	host, _ := address(s.master())
	if host == "" {
		return skip("which master this node has is not known")
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if link.IsService(host) {
		addrs, err := link.Masters(ctx, host)
		if err != nil {
			return failed(err, fmt.Sprintf("enter an SRV record %s in the DNS, or name the front end", host))
		}
		return ok("%s is %s", host, strings.Join(addrs, ", "))
	}
	addrs, err := s.Resolve(ctx, host)
	if err != nil {
		return failed(err, fmt.Sprintf("enter %s in /etc/hosts or in the DNS, or correct the name", host))
	}
	return ok("%s is %s", host, strings.Join(addrs, ", "))
}

// identity checks that the node has joined.
func identity(_ context.Context, s *subject) Result {
	if !s.root() {
		return needsRoot("whether this node has joined")
	}
	_, err := s.identity()
	switch {
	case errors.Is(err, link.ErrNotJoined):
		return warn("this node has not joined a cluster yet", "put a token of bpctl enroll on the front end into /etc/bproc/token and start bpslave, or run bpslave --join TOKEN MASTER")
	case err != nil:
		return failed(err, "restore it, or remove it and join again with a new token")
	}
	return ok("this node has joined")
}

func (s *subject) identity() (*link.Identity, error) {
	return s.Identity(s.Root.Path(s.stateDir() + "/identity"))
}

// ask asks the master for its version and clock, once for all checks.
func (s *subject) ask(ctx context.Context) (*link.About, error) {
	s.asked.Do(func() {
		host, port := address(s.master())
		id, err := s.identity()
		if err != nil {
			id = nil // accept any master
		}
		s.about, s.err = s.inquire(ctx, net.JoinHostPort(host, port), id)
	})
	return s.about, s.err
}

func (s *subject) inquire(ctx context.Context, addr string, id *link.Identity) (*link.About, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, errSilent)
	defer cancel()
	return s.Inquire(ctx, addr, id)
}

var errSilent = errors.New("no answer")

// reachable checks that a master answers at the address of this node's master.
func reachable(ctx context.Context, s *subject) Result {
	host, port := address(s.master())
	if host == "" {
		return skip("which master this node has is not known")
	}
	if _, err := s.ask(ctx); errors.As(err, new(*net.DNSError)) {
		return skip("the name of the master is not known")
	} else if err != nil {
		return failed(err, unreachable(err, port))
	}
	if id, err := s.identity(); err == nil {
		ctx, cancel := context.WithTimeoutCause(ctx, askTime, errSilent)
		defer cancel()
		var refused *link.RefusedError
		switch err := s.Accepts(ctx, net.JoinHostPort(host, port), id); {
		case errors.As(err, &refused) && refused.Rejoin:
			return failed(err, "enrol the node again: make a token with bpctl enroll on the front end, and start bpslave with it")
		case errors.As(err, &refused):
			return warn(refused.Error(), "it may be meant so: bpstat -l on the front end shows the node")
		case err != nil:
			return failed(err, unreachable(err, port))
		}
	}
	return ok("answers on port %s", port)
}

// accepts asks the master whether it accepts an identity.
func accepts(ctx context.Context, addr string, id *link.Identity) error {
	return link.Check(ctx, link.DialConfig{Addr: addr, Identity: id, Log: slog.New(slog.DiscardHandler)})
}

// unreachable returns the remedy for a master that does not answer.
func unreachable(err error, port string) string {
	var timeout net.Error
	var header tls.RecordHeaderError
	switch {
	case errors.Is(err, link.ErrOtherMaster):
		return "correct the master's name; or, if the front end was set up anew, join again: put a new token of 'bpctl enroll' into /etc/bproc/token, and restart bpslave"
	case errors.Is(err, unix.ECONNREFUSED):
		return "start bpmaster on the front end, and compare the port with its \"listen\" (bpctl check --front-end); a firewall may refuse it, too"
	case errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ENETUNREACH):
		return "put the network right: there is no route to the front end, or its firewall forbids the port"
	case errors.Is(err, errSilent), errors.As(err, &timeout) && timeout.Timeout():
		return "open TCP port " + port + " in the firewalls of the front end and between, and see whether the front end is up"
	case errors.As(err, &header):
		return "another program has this port on the front end: give bpmaster another one, and bpslave HOST:PORT"
	}
	return "bpmaster on the front end may be of another release: install the same on both"
}

// listening checks that the master listens on its port.
func listening(ctx context.Context, s *subject) Result {
	listen, _, err := s.FrontEnd(s.Root.Path(frontEndFile))
	if s.daemon != nil {
		if given := s.daemon.option("--listen"); given != "" {
			listen, err = given, nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return skip("the configuration cannot be read: %v", err)
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return failed(err, "correct \"listen\" in "+frontEndFile)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	about, err := s.inquire(ctx, net.JoinHostPort(host, port), nil)
	switch {
	case err == nil && about.Release != s.Release:
		return warn(fmt.Sprintf("the master that listens on %s is of release %s, bpctl of %s", listen, about.Release, s.Release), "systemctl restart bpmaster")
	case err == nil:
		return ok("bpmaster listens on %s; whether a firewall lets nodes reach it, bpctl check --node tells there", listen)
	case s.daemon != nil:
		return failed(err, fmt.Sprintf("look into the log of %v: journalctl -u bpmaster, if systemd has started it", s.daemon))
	case errors.Is(err, unix.ECONNREFUSED):
		return warn("bpmaster does not run; port "+port+" is free", "systemctl enable --now bpmaster")
	}
	return failed(err, "bpmaster does not run, and somebody else may have port "+port+": choose another (\"listen\" in "+frontEndFile+")")
}

// protocol compares the protocol versions of both sides.
func protocol(ctx context.Context, s *subject) Result {
	about, err := s.asks(ctx)
	switch {
	case err != nil:
		return skip("%v", err)
	case about.MinVersion > wire.Version || about.Version < wire.MinVersion:
		return fail(fmt.Sprintf("the master speaks versions %d to %d, this node %d to %d", about.MinVersion, about.Version, wire.MinVersion, wire.Version),
			fmt.Sprintf("install the same release on both: the master has %s, this node %s", about.Release, s.Release))
	case about.Release != s.Release:
		return warn(fmt.Sprintf("the master is of release %s, this node of %s; commands and jobs work, bpcp and bpjob may refuse", about.Release, s.Release), "install the same release on all machines")
	}
	return ok("version %d, release %s on both sides", min(about.Version, wire.Version), s.Release)
}

func clock(ctx context.Context, s *subject) Result {
	about, err := s.asks(ctx)
	if err != nil {
		return skip("%v", err)
	}
	if about.Ahead.Abs() > maxAhead+about.Within {
		word := "ahead of"
		if about.Ahead < 0 {
			word = "behind"
		}
		return warn(fmt.Sprintf("the master's clock is %v %s this node's", about.Ahead.Abs().Round(time.Millisecond), word), "have both set by NTP (timedatectl set-ntp true): files and start times of processes mislead otherwise")
	}
	return ok("agrees with the master's within %v", (about.Ahead.Abs() + about.Within).Round(time.Millisecond))
}

var errUnknown = errors.New("the master does not answer")

// asks is ask for checks that make no sense without an answer.
func (s *subject) asks(ctx context.Context) (*link.About, error) {
	if s.master() == "" {
		return nil, errUnknown
	}
	about, err := s.ask(ctx)
	if err != nil {
		return nil, errUnknown
	}
	return about, nil
}
