# SPDX-License-Identifier: BSD-3-Clause
"""Programs that lock files, for the script fs_locks: fs_locks.py PROGRAM ARGUMENT..."""
import errno
import fcntl
import os
import signal
import struct
import sys
import time


def opened(path):
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)


def lock(fd, kind, how, start=0, length=0):
    if kind == "flock":
        fcntl.flock(fd, how)
    else:
        fcntl.lockf(fd, how, length, start)


def said(text):
    print(text, flush=True)


def hold(kind, path):
    """Takes the lock, says so, and obeys: free, lock, lock_try (without waiting), write [TEXT], reopen, die."""
    fd = opened(path)
    lock(fd, kind, fcntl.LOCK_EX)
    said("has")
    for line in sys.stdin:
        word, _, text = line.strip().partition(" ")
        try:
            if word == "free":
                lock(fd, kind, fcntl.LOCK_UN)
            elif word == "lock":
                lock(fd, kind, fcntl.LOCK_EX)
            elif word == "lock_try":
                lock(fd, kind, fcntl.LOCK_EX | fcntl.LOCK_NB)
            elif word == "write":
                os.pwrite(fd, (text or "x").encode(), 0)
            elif word == "reopen":
                os.close(fd)
                fd = opened(path)
            elif word == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            said("ok")
        except OSError as e:
            said(errno.errorcode[e.errno])


def attempt(kind, path, start=0, length=0, how="x"):
    """Tries the lock without waiting: prints yes or the error."""
    fd = opened(path)
    try:
        lock(fd, kind, (fcntl.LOCK_EX if how == "x" else fcntl.LOCK_SH) | fcntl.LOCK_NB, int(start), int(length))
        said("yes")
    except OSError as e:
        said(errno.errorcode[e.errno])


def contend(kind, path, end):
    """Tries to lock the file without waiting, until the file `end` exists: prints how often it has got the lock."""
    fd = opened(path)
    got = 0
    while not os.path.exists(end):
        try:
            lock(fd, kind, fcntl.LOCK_EX | fcntl.LOCK_NB)
            got += 1
            lock(fd, kind, fcntl.LOCK_UN)
        except OSError as e:
            if e.errno != errno.EAGAIN:
                raise
        time.sleep(0.01)  # paces
    said(got)


def held_by(path):
    """Asks which lock is in the way."""
    fd = opened(path)
    got = fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    kind, _, start, length, _ = struct.unpack("hhqqi4x", got)
    said(f"{kind} {start} {length}")


def handover(a, b):
    """One mount frees a lock for which another waits, by two processes: the time in ms, the median and the least."""
    times = []
    for _ in range(20):
        fd = opened(a)
        lock(fd, "flock", fcntl.LOCK_EX)
        r, w = os.pipe()
        child = os.fork()
        if child == 0:
            other = opened(b)
            lock(other, "flock", fcntl.LOCK_EX)
            os.write(w, struct.pack("d", time.monotonic()))
            os._exit(0)
        time.sleep(0.1)  # paces: if the other does not wait yet, this time is not the least
        freed = time.monotonic()
        lock(fd, "flock", fcntl.LOCK_UN)
        times.append((struct.unpack("d", os.read(r, 8))[0] - freed) * 1000)
        os.waitpid(child, 0)
        for end in (fd, r, w):
            os.close(end)
    times.sort()
    said(f"{times[len(times) // 2]:.3f} {times[0]:.3f}")


def interrupted(kind, path, how="wait"):
    """Waits for a lock that is held until a signal comes; how "now": without asking to wait."""
    def no_more(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, no_more)
    fd = opened(path)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    began = time.monotonic()
    try:
        lock(fd, kind, fcntl.LOCK_EX | (fcntl.LOCK_NB if how == "now" else 0))
        said("has")
    except TimeoutError:
        said("interrupted" if time.monotonic() - began < 30 else "late")


def deadlock(a, b):
    """Two processes on two mounts lock two bytes in opposite order: exactly one gets EDEADLK."""
    r, w = os.pipe()
    there, back = os.pipe(), os.pipe()
    child = os.fork()
    fd = opened(b if child == 0 else a)
    first, second = (1, 0) if child == 0 else (0, 1)
    mine, other = (there, back) if child == 0 else (back, there)
    fcntl.lockf(fd, fcntl.LOCK_EX, 1, first)
    os.write(mine[1], b"x")
    os.read(other[0], 1)
    result = b"y"
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX, 1, second)
    except OSError as e:
        result = b"d" if e.errno == errno.EDEADLK else b"?"
    os.write(w, result)
    os.close(fd)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    said("".join(sorted(os.read(r, 2).decode())))


def increment(fd, kind):
    lock(fd, kind, fcntl.LOCK_EX)
    n = int(os.pread(fd, 16, 0) or b"0")
    size = os.fstat(fd).st_size
    if size not in (0, 16):
        raise SystemExit(f"size {size}")
    os.pwrite(fd, b"%16d" % (n + 1), 0)
    lock(fd, kind, fcntl.LOCK_UN)


def count(kind, path, rounds):
    """Increments the number in the file under the lock, with the file open all the time."""
    fd = opened(path)
    for _ in range(int(rounds)):
        increment(fd, kind)


def count_until(kind, path, end):
    """Does the same until the file `end` exists. Prints how often."""
    fd = opened(path)
    n = 0
    while not os.path.exists(end):
        increment(fd, kind)
        n += 1
    said(n)


def waiters(kind, path, n):
    """n processes wait for the lock at a time; each holds it for a moment, alone."""
    mark = path + ".mark"
    pids = []
    for _ in range(int(n)):
        pid = os.fork()
        if pid == 0:
            fd = opened(path)
            lock(fd, kind, fcntl.LOCK_EX)
            try:
                os.mkdir(mark)
                os.rmdir(mark)
            except OSError:
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    said(sum(os.waitpid(p, 0)[1] != 0 for p in pids))


globals()[sys.argv[1]](*sys.argv[2:])
