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

// configFile is what systemd reads, too (EnvironmentFile of systemd.exec(5)).
const configFile = "/etc/bproc/slave"

// masterOf returns HOST:PORT of the master: the operand, else MASTER in the configuration file.
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
		master = net.JoinHostPort(strings.Trim(master, "[]"), slave.DefaultPort) // an address of IPv6 may be in brackets
	}
	return master, nil
}
