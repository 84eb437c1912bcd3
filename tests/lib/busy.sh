# SPDX-License-Identifier: BSD-3-Clause
# Programs that use a mount all the time: sourced by e2e scripts after e2e.sh. Each program keeps a log, eight removed
# files and the directory open. It writes, reads and renames about 100 times a second, and ends at the first error.
#
#   busy_start HOST FOLDER NAME	starts a program; its rounds and its error are in $work/load.NAME
#   busy_moves NAME...		succeeds when each of them has made progress since the call
#   busy_alive NAME		the program has had no error

busy_start() {
	host_run "$1" python3 - "$2" >"$work/load.$3" 2>&1 <<-'PYTHON' &
		import os, sys, time
		top = sys.argv[1]
		log = os.open(top + "/log", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
		gone = []
		for i in range(8):
		    gone.append(os.open(top + "/gone", os.O_RDWR | os.O_CREAT))
		    os.unlink(top + "/gone")
		here = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
		n = 0
		while True:
		    os.write(log, b"%09d\n" % n)
		    n += 1
		    assert os.fstat(log).st_size == 10 * n, os.fstat(log).st_size
		    assert os.pread(log, 10, 10 * (n - 1)) == b"%09d\n" % (n - 1)
		    fd = gone[n % 8]
		    assert os.pwrite(fd, b"%d" % n, 0) and os.pread(fd, 20, 0).startswith(b"%d" % n)
		    os.rename("log" if n % 2 else "log2", "log2" if n % 2 else "log", src_dir_fd=here, dst_dir_fd=here)
		    sys.stdout.seek(0)
		    print(n, flush=True)
		    time.sleep(0.01)  # paces what it writes
	PYTHON
	wait_until 10 busy_reached "$3" 3
}

busy_reached() {
	[ "$(cat "$work/load.$1")" -gt "$2" ]
}

busy_moves() {
	local name
	local -A was
	for name; do was[$name]=$(head -n 1 "$work/load.$name"); done
	for name; do wait_until 20 busy_reached "$name" $((was[$name] + 5)) || return; done
}

busy_alive() {
	[ "$(wc -l <"$work/load.$1")" = 1 ]
}
