"""Prints what a copy has to keep of the files in a directory: manifest.py DIR [data]"""
import hashlib, os, stat, sys

top, data_only = sys.argv[1], sys.argv[2:] == ["data"]
inodes = {}


def describe(path):
    st = os.lstat(path)
    fields = [stat.filemode(st.st_mode)[0]]
    if stat.S_ISLNK(st.st_mode):
        fields.append(os.readlink(path))
    if stat.S_ISREG(st.st_mode):
        with open(path, "rb") as f:
            fields.append(hashlib.file_digest(f, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else hashlib.sha256(f.read()).hexdigest())
        if st.st_size > 1 << 20:
            fields.append("sparse" if st.st_blocks * 512 < st.st_size else "full")
    if stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode):
        fields.append(st.st_rdev)
    if not stat.S_ISDIR(st.st_mode):
        fields.append(inodes.setdefault(st.st_ino, path[len(top):]) if st.st_nlink > 1 else "alone")
    if not data_only:
        fields += [oct(st.st_mode), st.st_uid, st.st_gid, st.st_mtime_ns]
        if not stat.S_ISLNK(st.st_mode):
            fields += [(n, os.getxattr(path, n)) for n in sorted(os.listxattr(path))]
    print(repr(path[len(top):]), *fields)


describe(top)
for directory, names, files in os.walk(os.fsencode(top)):
    names.sort()
    for name in sorted(names + files):
        describe(os.fsdecode(os.path.join(directory, name)))
