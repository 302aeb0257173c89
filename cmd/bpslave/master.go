package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"bproc/slave"
)

// configFile is also read by systemd (EnvironmentFile, systemd.exec(5)).
const configFile = "/etc/bproc/slave"

// masterOf returns HOST:PORT of the master: the operand, or MASTER of the configuration file.
func masterOf(operands []string, file string) (string, error) {
	master := ""
	if len(operands) > 0 {
		master = operands[0]
	} else {
		f, err := os.Open(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("which master this node has: %w", err)
		}
		if err == nil {
			defer f.Close()
			for lines := bufio.NewScanner(f); lines.Scan(); {
				if value, found := strings.CutPrefix(strings.TrimSpace(lines.Text()), "MASTER="); found {
					master = strings.Trim(value, `"'`)
				}
			}
		}
	}
	if master == "" {
		return "", fmt.Errorf("no master given, and %s sets no MASTER", file)
	}
	if _, _, err := net.SplitHostPort(master); err != nil {
		master = net.JoinHostPort(strings.Trim(master, "[]"), slave.DefaultPort) // an IPv6 address may be in brackets
	}
	return master, nil
}
