# The ways in which a Python program makes processes: see conform.h for what it says.
import multiprocessing
import os
import signal
import subprocess
import sys
import threading


def say(text):
    os.write(1, (text + "\n").encode())


def check(what, got, want):
    if got != want:
        say("%s {%d} WRONG, want {%d}" % (what, got, want))


def report(what):
    say("%s: I am {%d}, parent {%d}, group {%d}, session {%d}"
        % (what, os.getpid(), os.getppid(), os.getpgrp(), os.getsid(0)))


def claim(pid, ppid, state="S"):
    ids = {}
    with open("/proc/%d/status" % pid) as status:
        for line in status:
            words = line.split()
            ids[words[0]] = words[1:4]
    with open("/proc/%d/comm" % pid) as comm:
        name = comm.read().strip()
    say("@proc %d %d %d %d %s %s %s %s" % (pid, ppid, os.getpgid(pid), os.getsid(pid), " ".join(ids["Uid:"]),
                                          " ".join(ids["Gid:"]), state, name))


def quiet():
    say("@quiet")
    while os.read(0, 1) != b"\n":
        pass


def reap(pid):
    got, status = os.waitpid(pid, 0)
    check("reaped", got, pid)
    say("{%d} ended: %d" % (pid, os.waitstatus_to_exitcode(status)))


def forks():
    r, w = os.pipe()
    parent, pids = os.getpid(), []
    for i in range(5):
        pid = os.fork()
        if pid == 0:
            os.close(w)
            if i == 1:
                os.setpgid(0, 0)
            if i == 2:
                os.setsid()
            claim(os.getpid(), parent)
            os.kill(os.getpid(), signal.SIGSTOP)
            os.read(r, 1)
            os._exit(i)
        pids.append(pid)
    for pid in pids:
        got, status = os.waitpid(pid, os.WUNTRACED)
        say("{%d} stopped %s" % (got, os.WIFSTOPPED(status)))
        claim(pid, parent, "T")
    claim(parent, os.getppid())
    quiet()
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
        claim(pid, parent)
    quiet()
    os.close(w)
    for pid in pids:
        reap(pid)
    os.close(r)


def spawns():
    argv = [sys.executable, "-S", "-c", "import os; print('spawned: {%d}, parent {%d}' % (os.getpid(), os.getppid()))"]
    pid = os.posix_spawn(argv[0], argv, os.environ)
    reap(pid)
    pid = os.posix_spawn(argv[0], argv, os.environ, setpgroup=0)
    reap(pid)
    done = subprocess.run(argv, check=True)
    say("subprocess: %d" % done.returncode)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True) as child:
        say("a session {%d} of {%d}" % (os.getsid(child.pid), child.pid))
        child.stdin.close()
        say("ended: %d" % child.wait())
    with subprocess.Popen(["sh", "-c", "echo {$$} {$PPID}; sleep 0 | cat; exit 7"]) as child:
        say("{%d} ended: %d" % (child.pid, child.wait()))


def work(n):
    return n * n, os.getppid()


def pools():
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(3) as pool:
            answers = pool.map(work, range(20))
        say("%s: %d" % (method, sum(n for n, _ in answers)))
        if method != "forkserver":
            for _, ppid in answers:
                check("a worker's parent", ppid, os.getpid())


def threads():
    results = []

    def in_thread():
        pid = os.fork()
        if pid == 0:
            os._exit(8)
        results.append((pid, os.waitpid(pid, 0)))

    for thread in [threading.Thread(target=in_thread) for _ in range(8)]:
        thread.start()
        thread.join()
    for pid, (got, status) in results:
        check("waited in a thread", got, pid)
        say("{%d} ended: %d" % (pid, os.waitstatus_to_exitcode(status)))


def orphans():
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            os.setsid()
            os.read(r, 1)
            say("daemon: parent {%d}, its session is its own: %s" % (os.getppid(), os.getsid(0) == os.getpid()))
            os._exit(0)
        os._exit(0)
    reap(pid)
    os.write(w, b"x")


if __name__ == "__main__":
    report("program")
    forks()
    spawns()
    pools()
    threads()
    orphans()
