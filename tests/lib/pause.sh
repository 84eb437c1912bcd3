# SPDX-License-Identifier: BSD-3-Clause
# Waiting a moment in bash without a process: sourced by bash scripts.
#
#	pause SECONDS	which may have a fraction
#
# A process for each pause is slow, and worse: bash remembers the pid of every process substitution that it ever
# started, and once pids repeat it attributes the end of another child to it. A `wait` for that child then never ends.
# So no loop uses one.

# A pipe without a name, open at both ends, to which no process writes.
pause_open() {
	local dir
	dir=$(mktemp -d "${TMPDIR:-/tmp}/plenum-pause.XXXXXX") && mkfifo "$dir/never" && exec {pause_fd}<>"$dir/never"
	rm -rf "$dir"
}
pause_open

pause() {
	read -rt "$1" -u "$pause_fd" || :
}
