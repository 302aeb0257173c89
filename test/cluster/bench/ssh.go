package main

import (
	"context"

	"bproc/test/cluster"
)

// server makes node 0 an ssh server with a key for root.
const server = `
set -e
mkdir -p -m 755 /run/sshd /run/ssh
cd /run/ssh
grep -q ^sshd: /etc/passwd || echo 'sshd:x:107:65534::/run/sshd:/bin/false' >>/etc/passwd
ssh-keygen -q -t ed25519 -N '' -f key
cat >config <<E
Port 2222
HostKey /run/ssh/key
AuthorizedKeysFile /run/ssh/key.pub
StrictModes no
UsePAM no
PidFile /run/ssh/pid
E
/usr/sbin/sshd -f config
`

const (
	sshKey = "/run/ssh/key"
	ssh    = "ssh -F /dev/null -q -i " + sshKey + " -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -p 2222"
)

// serveSSH starts the server, and gives the front end the key.
func serveSSH(ctx context.Context, c *cluster.Cluster) error {
	if _, err := output(ctx, c.Nodes[0], "bash", "-c", server); err != nil {
		return err
	}
	key, err := c.Nodes[0].ReadFile(sshKey)
	if err != nil {
		return err
	}
	return c.Front.WriteFile(sshKey, string(key), 0o600)
}
