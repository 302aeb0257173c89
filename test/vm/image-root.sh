#!/bin/bash
# image-root.sh ROOT: a hook of mmdebstrap(1), run by image.sh: accounts, addresses and ssh of ROOT.
set -euo pipefail
root=$1

chroot "$root" passwd -q -d root
chroot "$root" useradd -m -s /bin/bash user
mkdir -p "$root/root/.ssh" "$root/work"
cp "$OUT/key.pub" "$root/root/.ssh/authorized_keys"
rm -f "$root"/etc/ssh/ssh_host_*
chroot "$root" ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
echo 'UseDNS no' >"$root/etc/ssh/sshd_config.d/vm.conf"
echo '/dev/vda / ext4 defaults,noatime 0 0' >"$root/etc/fstab"
printf '127.0.0.1 localhost\n10.9.0.1 front-end\n10.9.0.2 node0\n10.9.0.3 node1\n' >"$root/etc/hosts"
echo 'export PATH=/usr/local/go/bin:$PATH GOPROXY=off GOTOOLCHAIN=local GOFLAGS=-buildvcs=false' >"$root/etc/profile.d/go.sh"

# eth0 is how the suites get in; eth1 is the cluster's network, with the address that the
# kernel's command line has as vm.address=. The name is systemd.hostname= there.
cat >"$root/usr/local/sbin/vm-net" <<'X'
#!/bin/sh
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
for word in $(cat /proc/cmdline); do
	case $word in vm.address=*)
		ip addr add "${word#vm.address=}/24" dev eth1
		ip link set eth1 up
		;;
	esac
done
X
chmod +x "$root/usr/local/sbin/vm-net"
cat >"$root/etc/systemd/system/vm-net.service" <<'X'
[Unit]
Description=Addresses of the test machine
DefaultDependencies=no
After=sysinit.target
Wants=network.target
Before=network.target network-online.target ssh.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStartPre=/bin/sh -c 'until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done'
ExecStart=/usr/local/sbin/vm-net

[Install]
WantedBy=multi-user.target network-online.target
X
chroot "$root" systemctl -q enable vm-net.service ssh.service
# What would only take time.
chroot "$root" systemctl -q mask systemd-timesyncd.service apt-daily.timer apt-daily-upgrade.timer \
	man-db.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
	getty@tty1.service serial-getty@ttyS0.service systemd-update-utmp.service \
	systemd-update-utmp-runlevel.service systemd-journal-flush.service
