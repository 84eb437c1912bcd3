# SPDX-License-Identifier: BSD-3-Clause
# Waiting a moment in bash without a process: sourced by bash scripts.
#
#	pause SECONDS	which may have a fraction
#
# A process for each pause is more than slow: bash remembers the pid of every process substitution that it
# ever began, and once pids come round again puts the end of another child down to it. A `wait` for that
# child then never ends. So nothing that is done in a loop uses one.

# A pipe that nobody writes to, open at both ends, without a name.
pause_open() {
	local dir
	dir=$(mktemp -d "${TMPDIR:-/tmp}/plenum-pause.XXXXXX") && mkfifo "$dir/never" && exec {pause_fd}<>"$dir/never"
	rm -rf "$dir"
}
pause_open

pause() {
	read -rt "$1" -u "$pause_fd" || :
}
