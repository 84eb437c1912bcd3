# SPDX-License-Identifier: BSD-3-Clause
# Programs that lock files (tests/e2e/fs_locks.py), and what they answer: sourced by bash scripts.
#
#   locker PROGRAM ARGS...	runs a program of fs_locks.py. A script may redefine it, to run the program in a host
#   holder NAME KIND FILE	starts a program that takes the lock, then obeys
#   hears NAME ANSWER [SECONDS]	waits for the program's next answer; fails if it is another one
#   tell NAME COMMAND ANSWER	sends the program a command and waits for the answer
#   end NAME			ends the program, which waits for a command, as by SIGKILL
#   is WANTED CMD...		fails if CMD prints anything else
#   becomes SECONDS WANTED CMD...	repeats CMD until it prints WANTED
#
# $lockers is a folder for pipes and errors.

locker() {
	python3 "${BASH_SOURCE[0]%/*}/../e2e/fs_locks.py" "$@"
}

declare -A to from pid
holder() {
	local in out
	mkfifo "$lockers/$1.in" "$lockers/$1.out"
	locker hold "$2" "$3" <"$lockers/$1.in" >"$lockers/$1.out" 2>"$lockers/$1.err" &
	pid[$1]=$!
	exec {in}>"$lockers/$1.in" {out}<"$lockers/$1.out"
	to[$1]=$in from[$1]=$out
	rm "$lockers/$1.in" "$lockers/$1.out"
}

hears() {
	local answer=
	read -r -t "${3:-240}" -u "${from[$1]}" answer
	[ "$answer" = "$2" ] && return
	echo "$1 says '$answer', not '$2'; $(tail -n 1 "$lockers/$1.err")"
	return 1
}

tell() {
	echo "$2" >&"${to[$1]}" && hears "$1" "$3"
}

end() {
	echo die >&"${to[$1]}"
	wait "${pid[$1]}" 2>/dev/null
	return 0
}

is() {
	local want=$1 got
	shift
	got=$("$@") && [ "$got" = "$want" ] && return
	echo "$*: '$got', not '$want'"
	return 1
}

becomes() {
	local until=$((SECONDS + $1)) want=$2
	shift 2
	while [ "$("$@")" != "$want" ]; do
		[ $SECONDS -lt $until ] || { is "$want" "$@" && return; return 1; }
		pause 0.2
	done
}
