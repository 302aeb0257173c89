package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// lookupTime bounds a DNS query for the master's address. A resolver asks the next server of
// resolv.conf(5) when one has not answered within 5 seconds.
const lookupTime = 16 * time.Second

// IsService reports whether a host is the name of a service (RFC 2782), such as
// _bproc._tcp.example.org, for which the DNS has hosts and ports. No host name begins with an
// underscore.
func IsService(host string) bool { return strings.HasPrefix(host, "_") }

// Masters returns the master's addresses with ports from the DNS, in the order in which to try
// them. A name without a domain is looked up in the domains of resolv.conf(5).
func Masters(ctx context.Context, service string) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookupTime, fmt.Errorf("no answer after %v", lookupTime))
	defer cancel()
	_, records, err := net.DefaultResolver.LookupSRV(ctx, "", "", service)
	if len(records) == 0 {
		if late := context.Cause(ctx); late != nil {
			err = late
		}
		return nil, fmt.Errorf("where the master is, by the DNS: SRV record %s: %w", service, err)
	}
	var all []string
	for _, r := range records { // sorted by priority, and at random by weight
		all = append(all, net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port))))
	}
	return all, nil
}

// dialTCP connects to the master. It looks the address up each time, as the master may have moved. Only
// the connection to an address has the limit dialTime: a DNS server that is down costs more.
func dialTCP(ctx context.Context, addr string) (*net.TCPConn, error) {
	addrs := []string{addr}
	if host, _, err := net.SplitHostPort(addr); err == nil && IsService(host) {
		if addrs, err = Masters(ctx, host); err != nil {
			return nil, err
		}
	}
	dialer := net.Dialer{Timeout: dialTime}
	var failed error
	for _, addr := range addrs {
		ends, err := lookUp(ctx, addr)
		failed = errors.Join(failed, err)
		for _, end := range ends {
			c, err := dialer.DialContext(ctx, "tcp", end)
			if err == nil {
				return c.(*net.TCPConn), nil
			}
			failed = errors.Join(failed, err)
		}
	}
	return nil, failed
}

// lookUp returns the addresses of a host, with its port.
func lookUp(ctx context.Context, addr string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	if host == "" {
		return []string{addr}, nil // this machine
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	ips, err := net.DefaultResolver.LookupHost(ctx, host)
	for i, ip := range ips {
		ips[i] = net.JoinHostPort(ip, port)
	}
	if err != nil {
		err = &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	return ips, err
}
