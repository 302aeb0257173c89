"""Makes a directory with files of all kinds: tree.py DIR"""
import os, re, socket, struct, sys

top = sys.argv[1]
root = os.geteuid() == 0
os.umask(0o022)
os.makedirs(f"{top}/a/deep/er")
os.mkdir(f"{top}/empty")


def write(name, data, mode=0o644):
    with open(f"{top}/{name}", "wb") as f:
        f.write(data)
    os.chmod(f"{top}/{name}", mode)


write("a/file", b"text\n", 0o640)
write("a/none", b"", 0o400)
write("a/deep/er/big", os.urandom(3 << 20), 0o600)
write("program", b"#!/bin/sh\n", 0o755)
write("set-id", b"#!/bin/sh\n", 0o4755)
write("a name\nwith \udcff and blanks", b"x")
os.link(f"{top}/a/file", f"{top}/a/deep/link")
os.link(f"{top}/a/file", f"{top}/link")
os.symlink("a/file", f"{top}/symbolic")
os.symlink("/nowhere/" + "x" * 200, f"{top}/dangling")
os.link(f"{top}/symbolic", f"{top}/symbolic-twin", follow_symlinks=False)
os.mkfifo(f"{top}/fifo", 0o620)
s = socket.socket(socket.AF_UNIX)
s.bind(f"{top}/socket")
with open(f"{top}/sparse", "wb") as f:
    f.seek(5 << 20)
    f.write(b"middle" * 1000)
    f.truncate(40 << 20)
with open(f"{top}/hole", "wb") as f:
    f.truncate(8 << 20)
if root:
    os.mknod(f"{top}/device", 0o600 | 0o020000, os.makedev(1, 3))
    os.chown(f"{top}/a/none", 12345, 12346)
    os.chown(f"{top}/symbolic", 12345, 12346, follow_symlinks=False)
    os.chown(f"{top}/set-id", 12345, 12345)
    os.chmod(f"{top}/set-id", 0o4755)
    os.setxattr(f"{top}/a/file", "trusted.mark", b"\0\1")
if [int(n) for n in re.findall(r"\d+", os.uname().release)[:2]] >= [6, 6]:  # before, tmpfs has none of users
    os.setxattr(f"{top}/a/file", "user.mark", b"value\0\xff")
    os.setxattr(f"{top}/empty", "user.mark", b"")
# An access control list: user 12346 may read (acl(5)).
entries = [(1, 6, 0xFFFFFFFF), (2, 4, 12346), (4, 4, 0xFFFFFFFF), (0x10, 4, 0xFFFFFFFF), (0x20, 0, 0xFFFFFFFF)]
os.setxattr(f"{top}/a/deep/er/big", "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
os.setxattr(f"{top}/empty", "system.posix_acl_default", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
os.chmod(f"{top}/empty", 0o1750)
os.utime(f"{top}/symbolic", ns=(10**18 + 1, 10**18 + 2), follow_symlinks=False)
for n, name in enumerate(["a/file", "program", "fifo", "a/deep", "a", "empty"]):
    os.utime(f"{top}/{name}", ns=(10**18 + n, 10**18 + 123456789 + n))
