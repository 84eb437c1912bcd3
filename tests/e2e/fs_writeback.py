# SPDX-License-Identifier: BSD-3-Clause
"""Programs of fs_writeback: they write files in small pieces on one mount, and look from another."""
import errno, os, random, signal, sys, time

PIECE = 4096


def pieces(path, n, flags=0, first=0):
    """Writes n pieces, closely one after the other; returns the open file."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
    for i in range(first, first + n):
        os.pwrite(fd, content(i), i * PIECE)
    return fd


def content(i):
    return bytes([i % 251 + 1]) * PIECE


def expect(data, n, what):
    for i in range(n):
        if data[i * PIECE:(i + 1) * PIECE] != content(i):
            sys.exit(f"{what}: piece {i} of {n} is wrong, {len(data)} bytes in all")


def slurp(path):
    with open(path, "rb") as f:
        return f.read()


def seen(a, b):
    """After each burst of writes, the other client sees all of them, whichever way it looks."""
    total = 0
    for turn in range(300):
        # A separate file, because the server grants no lease after a conflict.
        name = f"seen{turn}"
        n = random.randrange(1, 40)
        total += n
        if turn % 2:  # the other client knows that the name does not exist
            os.path.exists(f"{b}/{name}")
        way = random.randrange(10)
        if way >= 7:  # the other client has the file open already, so that it looks up no name
            os.close(os.open(f"{a}/{name}", os.O_WRONLY | os.O_CREAT))
            fd2 = os.open(f"{b}/{name}", os.O_RDWR)
        fd = pieces(f"{a}/{name}", n, os.O_TRUNC if way < 7 else 0)
        want = n * PIECE
        if way == 0:
            got = os.stat(f"{b}/{name}").st_size
        elif way == 1:
            got = [e for e in os.scandir(b) if e.name == name][0].stat().st_size
        elif way == 2:
            got = len(slurp(f"{b}/{name}"))
        elif way == 3:
            fd2 = os.open(f"{b}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.close(fd2)
            got, want, n = os.fstat(fd).st_size, 0, 0
            got = os.stat(f"{a}/{name}").st_size
        elif way == 4:
            os.truncate(f"{b}/{name}", 100)
            got, want, n = os.stat(f"{b}/{name}").st_size, 100, 0
        elif way == 5:
            fd2 = os.open(f"{b}/{name}", os.O_WRONLY)
            os.pwrite(fd2, b"other", 0)
            os.close(fd2)
            os.close(fd)
            fd = os.open(f"{a}/{name}", os.O_RDONLY)
            if os.pread(fd, 5, 0) != b"other":
                sys.exit("a later write of the other client is overwritten")
            got, n = os.fstat(fd).st_size, 0
        elif way == 7:
            os.close(fd2)
            fd2 = os.open(f"{b}/{name}", os.O_RDONLY)
            got = len(os.pread(fd2, (n + 1) * PIECE, 0))
        elif way == 8:
            os.ftruncate(fd2, 100)
            got, want, n = os.stat(f"{a}/{name}").st_size, 100, 0
        elif way == 9:
            os.pwrite(fd2, b"other", (n - 1) * PIECE)
            os.fsync(fd)
            if slurp(f"{a}/{name}")[-PIECE:][:5] != b"other":
                sys.exit("a later write of the other client is overwritten")
            got, n = os.stat(f"{a}/{name}").st_size, 0
        else:
            os.rename(f"{a}/{name}", f"{a}/renamed")
            got = os.stat(f"{b}/renamed").st_size
            expect(slurp(f"{b}/renamed"), n, "renamed")
            os.close(fd)
            os.rename(f"{b}/renamed", f"{b}/{name}")
            fd = os.open(f"{a}/{name}", os.O_RDONLY)
        if got != want:
            sys.exit(f"way {way}: the size is {got}, not {want}")
        if n:
            expect(slurp(f"{b}/{name}"), n, f"way {way}")
        os.close(fd)
        if way >= 7:
            os.close(fd2)
        if os.stat(f"{b}/{name}").st_size != os.stat(f"{a}/{name}").st_size:
            sys.exit("the sizes differ after the close")
        os.unlink(f"{a}/{name}")
    print(total)


def own(a, exp):
    """The writing client itself sees its writes, in the order in which it made them."""
    for turn in range(100):
        path = f"{a}/own{turn % 5}"
        flags = random.choice((os.O_TRUNC, os.O_TRUNC | os.O_APPEND))
        fd = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o644)
        is_end = flags & os.O_APPEND
        model = bytearray()
        for _ in range(random.randrange(30, 120)):
            what = random.randrange(40)
            data = os.urandom(random.randrange(1, 6000))
            if what < 32:
                at = len(model)
                os.pwrite(fd, data, at)
            elif what < 34 and not is_end:
                at = random.randrange(len(model) + 1)
                os.pwrite(fd, data, at)
            elif what == 34:
                size = random.randrange(len(model) + 3000)
                os.ftruncate(fd, size)
                model = model[:size] + bytes(max(0, size - len(model)))
                continue
            elif what == 35 and model:
                at = random.randrange(len(model))
                if os.pread(fd, 5000, at) != bytes(model[at:at + 5000]):
                    sys.exit("a read does not show the writes")
                continue
            elif what == 36:
                if os.stat(path).st_size != len(model):
                    sys.exit(f"size {os.stat(path).st_size}, not {len(model)}")
                continue
            elif what == 37:
                os.fsync(fd)
                if slurp(exp + path[len(a):]) != bytes(model):
                    sys.exit("the data are not at the server after fsync")
                continue
            elif what == 38:
                os.utime(path, (1000, 1000))
                if os.stat(path).st_mtime != 1000:
                    sys.exit("a write changes the time that a program has set after it")
                continue
            else:
                fd2 = os.open(path, os.O_WRONLY)
                os.pwrite(fd2, data, len(model))
                os.close(fd2)
                at = len(model)
            model[at:at + len(data)] = data
        os.close(fd)
        if slurp(exp + path[len(a):]) != bytes(model):
            sys.exit("the data are not at the server after close")


def steady(a, b, exp):
    """One program writes all the time; another client gets each answer soon, and no write is lost."""
    laps = 20000
    writer = os.fork()
    if writer == 0:
        end = time.monotonic() + 15
        fd = os.open(f"{a}/steady", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        n = 0
        try:
            while time.monotonic() < end:
                os.pwrite(fd, content(n), n % laps * PIECE)
                n += 1
            os.fsync(fd)
            os.close(fd)
        except OSError as e:
            print(f"write {n} failed: {e}")
            os._exit(1)
        if n <= laps:
            expect(slurp(f"{exp}/steady"), n, "after the writes")
        elif slurp(f"{exp}/steady")[(n - 1) % laps * PIECE:][:PIECE] != content(n - 1):
            print("the last write is not at the server")
            os._exit(1)
        os._exit(0)
    longest, ended, status = 0, 0, 0
    while True:
        ended, status = os.waitpid(writer, os.WNOHANG)
        if ended:
            break
        begin = time.monotonic()
        if os.path.exists(f"{b}/steady"):
            os.stat(f"{b}/steady")
        longest = max(longest, time.monotonic() - begin)
        if longest >= 1:
            os.kill(writer, signal.SIGKILL)
            sys.exit(f"the other client waited {longest:.3f} s")
        time.sleep(1)  # paces
    if status:
        sys.exit("the writer failed")
    print(f"# the other client waited up to {longest:.3f} s")


def killed(a, exp, pid):
    """The worker with this pid dies while data are held; fsync returns 0 and nothing is lost."""
    fd = pieces(f"{a}/killed", 50, os.O_TRUNC)
    os.kill(int(pid), signal.SIGKILL)
    os.fsync(fd)
    os.close(fd)
    data = slurp(f"{exp}/killed")
    if len(data) != 50 * PIECE:
        sys.exit(f"{len(data)} bytes of {50 * PIECE}")
    expect(data, 50, "at the server")


def silent(a, b, exp, pid):
    """The worker with this pid stops while it holds data. The other client waits for ten seconds."""
    pid = int(pid)
    for attempt in range(50):
        # the others wait after a conflict, so each attempt has another file
        path = f"silent{attempt}"
        fd = pieces(f"{a}/{path}", 40, os.O_TRUNC)
        os.kill(pid, signal.SIGSTOP)
        while open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "T":
            pass
        if os.path.getsize(f"{exp}/{path}") < 40 * PIECE:
            break
        os.kill(pid, signal.SIGCONT)
        os.close(fd)
    else:
        sys.exit("the client held nothing")
    begin = time.monotonic()
    fd2 = os.open(f"{b}/{path}", os.O_RDWR)
    took = time.monotonic() - begin
    os.pwrite(fd2, b"second" * 1000, 39 * PIECE)
    os.close(fd2)
    os.kill(pid, signal.SIGCONT)
    print(f"# the other client waited {took:.1f} s")
    if not 8 < took < 14:
        sys.exit(f"the other client waited {took:.1f} s")
    results = []
    for _ in range(2):
        try:
            os.fsync(fd)
            results.append(0)
        except OSError as e:
            results.append(e.errno)
    os.close(fd)
    if results != [errno.EIO, 0]:
        sys.exit(f"fsync returned {results}")
    if slurp(f"{exp}/{path}")[39 * PIECE:39 * PIECE + 6] != b"second":
        sys.exit("data of the silent client have replaced newer data")


def full(a):
    """The disk is full: the error is reported once, by a write, fsync or close."""
    for turn in range(20):
        fd = os.open(f"{a}/full", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        errors = []
        n = 0
        try:
            for i in range(random.randrange(300, 310) if turn % 2 else 2000):
                os.pwrite(fd, content(i), i * PIECE)
                n += 1
        except OSError as e:
            errors.append(e.errno)
        if turn % 3 == 0 and not errors:
            try:
                os.fsync(fd)
            except OSError as e:
                errors.append(e.errno)
        try:
            os.close(fd)
        except OSError as e:
            errors.append(e.errno)
        if errors != [errno.ENOSPC]:
            sys.exit(f"turn {turn}: {n} pieces, errors {errors}")
        os.truncate(f"{a}/full", 0)


def count(a, n):
    os.close(pieces(f"{a}/count", int(n), os.O_TRUNC))


random.seed(int(os.environ.get("SEED", "0")) or None)
globals()[sys.argv[1]](*sys.argv[2:])
