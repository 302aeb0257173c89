package main

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// sshServer makes a node an ssh server, with a key for root that is also on the front end. Its
// shell reads no files of the user.
const sshServer = `
set -e
mkdir -p -m 755 /run/sshd /run/ssh
cd /run/ssh
sed -i '/^root:/s,[^:]*$,/bin/sh,' /etc/passwd
grep -q ^sshd: /etc/passwd || echo 'sshd:x:107:65534::/run/sshd:/bin/false' >>/etc/passwd
cat >key
chmod 600 key
ssh-keygen -y -f key >key.pub
cat >config <<E
Port 2222
HostKey /run/ssh/key
AuthorizedKeysFile /run/ssh/key.pub
StrictModes no
UsePAM no
MaxStartups 1000
MaxSessions 1000
PidFile /run/ssh/pid
E
/usr/sbin/sshd -f config
`

// sshClient makes the key, on the front end.
const sshClient = `
set -e
mkdir -p -m 755 /run/ssh
cd /run/ssh
sed -i '/^root:/s,[^:]*$,/bin/sh,' /etc/passwd
ssh-keygen -q -t ed25519 -N '' -f key
cat >config <<E
Port 2222
IdentityFile /run/ssh/key
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
E
{ cat config; echo 'ControlPath /run/ssh/%h'; } >connected
`

// rshPAM lets every user in.
const rshPAM = "auth required pam_permit.so\naccount required pam_permit.so\nsession required pam_permit.so\n"

// prepare starts the servers on all nodes, and the control connections to them.
func (r *rivals) prepare(ctx context.Context) error {
	if _, err := output(ctx, r.c.Front, "sh", "-c", sshClient); err != nil {
		return err
	}
	key, err := r.c.Front.ReadFile("/run/ssh/key")
	if err != nil {
		return err
	}
	var all errgroup.Group
	all.SetLimit(4)
	for i, n := range r.c.Nodes {
		all.Go(func() error {
			if err := n.WriteFile("/run/key", string(key), 0o600); err != nil {
				return err
			}
			if _, err := output(ctx, n, "sh", "-c", "{"+sshServer+"} </run/key"); err != nil {
				return err
			}
			if r.rsh != "" {
				if err := n.WriteFile("/etc/pam.d/rsh", rshPAM, 0o644); err != nil {
					return err
				}
				// It also writes to standard error; a shell around it costs a millisecond.
				daemon := filepath.Join(r.rsh, "usr/sbin/in.rshd")
				if _, err := n.StartDaemon(ctx, false, "systemd-socket-activate", "--accept", "--inetd", "-l", "514", "sh", "-c", "exec "+daemon+" 2>&1"); err != nil {
					return err
				}
			}
			_, err := output(ctx, r.c.Front, "sh", "-c", fmt.Sprintf("ssh -F /run/ssh/connected -M -f -N n%d >/dev/null 2>&1", i))
			return err
		})
	}
	return all.Wait()
}
