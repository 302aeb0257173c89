package cluster_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// mountScript runs a shell script in a mount namespace of its own, on a front end with a remote
// process, whose number is $1.
func mountScript(t *testing.T, c *cluster.Cluster, script string, args ...string) string {
	t.Helper()
	const begin = `
set -e
mkdir -p /opt/mounts
mount -t tmpfs -o mode=755 none /opt/mounts
cd /opt/mounts
mkdir view
await() { for i in $(seq 400); do if "$@"; then return; fi; sleep 0.05; done; echo "not within 20 s: $*"; exit 1; }
shows() { grep -qs BProcNode view/$pid/status; }
gone() { ! grep -q ' /opt/mounts/view fuse' /proc/mounts; }
pid=$1; shift
`
	return ask(t, c.Front, cluster.Root, append([]string{"unshare", "-m", "bash", "-c", begin + script, "bash"}, args...)...)
}

// TestViewIsMounted mounts the view by mount(8), by fstab(5), and as an ordinary user.
func TestViewIsMounted(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 3)
	wantIdle(t, c)
	r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "echo ready; exec sleep 1001")
	pid := fmt.Sprint(r.ghost)
	t.Run("mount and fstab", func(t *testing.T) {
		got := mountScript(t, c, `
mkdir upper work
sbin=$(readlink -f /sbin)
mount -t overlay -o lowerdir=$sbin,upperdir=upper,workdir=work none $sbin
ln -s $(command -v bpprocfs) $sbin/mount.fuse.bpprocfs
mount -t fuse.bpprocfs none /opt/mounts/view
await shows
if mount -t fuse.bpprocfs none /opt/mounts/view 2>err; then echo 'two views on one mount point'; fi
grep -o 'another view' err
umount -R view
await gone
if mount -t fuse.bpprocfs none /opt/mounts/nothing 2>err; then echo 'a view on no mount point'; fi
grep -o 'no such file or directory' err
echo 'none /opt/mounts/view fuse.bpprocfs keep,lazy,nofail 0 0' >fstab
mount --bind fstab /etc/fstab
mount /opt/mounts/view
await shows
findmnt -n -o FSTYPE /opt/mounts/view
umount -R view
`, pid)
		if want := "another view\nno such file or directory\nproc\nfuse.bpprocfs"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("an ordinary user", func(t *testing.T) {
		got := mountScript(t, c, `
chown $1 view
as="setpriv --reuid $1 --regid $1 --clear-groups"
mknod fuse c 10 229
mount --bind fuse /dev/fuse
chmod 600 fuse
if $as bpprocfs view 2>err; then echo 'mounted without a right to'; fi
grep -o 'needs fusermount3' err
chmod 666 fuse
mine() { $as grep -qs BProcNode view/$pid/status; }
$as bpprocfs view &
await mine
$as readlink view/$pid/exe
cat view/$pid/status 2>&1 | grep -o 'Permission denied'
kill -9 $!; wait $! || true
$as bpprocfs view &
fresh() { $as grep -qs 'open files' view/$pid/limits; } # of the former view the kernel shows what it has read
await fresh
kill $!; wait $!
gone
if $as bpprocfs --keep view 2>err; then echo 'keeps what it cannot'; fi
grep -o 'needs CAP_SYS_ADMIN' err
cp /etc/fuse.conf . && echo user_allow_other >>fuse.conf
mount --bind fuse.conf /etc/fuse.conf
$as bpprocfs view &
await shows
kill $!; wait $!
`, pid, fmt.Sprint(cluster.Alice.UID))
		if want := "needs fusermount3\n/usr/bin/sleep\nPermission denied\nneeds CAP_SYS_ADMIN"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	cluster.Eventually(t, "no server of a view is left", func() error {
		left, err := c.Front.Named("bpprocfs")
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("got %+v", left)
		}
		return err
	})
	r.kill(unix.SIGKILL)
}
