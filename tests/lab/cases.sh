# SPDX-License-Identifier: BSD-3-Clause
# Sourced by lab: runs the cases. A case is a file in cases/ with two comment lines, `# about: ...` and
# `# wants: hosts=2 legs=2 nics=igb`, and a function case_run. It runs with `set -e`: the first command that
# fails fails the case. Cases of equal wants share booted hosts; between them the hosts are reset.

lab_case_limit_s=240

# --- what a case may call ----------------------------------------------------------------------

on() { # on HOST CMD...
	lab_sh "$@" </dev/null
}

script_on() { # script_on HOST < SCRIPT: runs a bash script with `set -e`
	lab_sh "$1" bash -euo pipefail -s
}

link() {
	lab_link "$@"
}

within() { # within SECONDS CMD...: tries until it succeeds, fails at the deadline
	local deadline=$((${EPOCHREALTIME/./} + $1 * 1000000))
	shift
	until "$@" >/dev/null 2>&1; do
		if [ ${EPOCHREALTIME/./} -ge $deadline ]; then
			echo "did not happen in time: $*" >&2
			"$@" >&2 || return 1
			return 0
		fi
		read -rt 0.1 <> <(:) || :
	done
}

fails() { # fails CMD...: succeeds when CMD fails
	! "$@"
}

skip() { # skip REASON: ends the case
	echo "$1" >"$lab_case_logs/skipped"
	exit 0
}

addresses() { # addresses [LEG...]: 10.LEG.0.1 on host-a, 10.LEG.0.2 on host-b, links up
	local leg
	for leg in "$@"; do
		on host-a sh -c "ip addr add 10.$leg.0.1/24 dev eth$((leg + 1)) && ip link set eth$((leg + 1)) up"
		on host-b sh -c "ip addr add 10.$leg.0.2/24 dev eth$((leg + 1)) && ip link set eth$((leg + 1)) up"
		within 20 on host-a ping -c 1 -W 1 "10.$leg.0.2"
	done
}

# --- the runner --------------------------------------------------------------------------------

lab_case_field() { # lab_case_field CASE about|wants
	sed -n "s/^# $2: *//p" "$here/cases/$1"
}

lab_run_case() { # in a process of its own, with the lab up
	lab_case_logs=$2
	. "$here/cases/$1"
	case_run
}

# Puts the hosts and switches back as they were after boot; fails where that cannot be done.
lab_reset() {
	local host leg run
	run=$(lab_run_dir)
	for host in $(lab_host_names "$hosts"); do
		[ -S "$run/$host.chan.0" ] || return 1
		for leg in $(seq 0 $((legs - 1))); do
			lab_link "$host" "$leg" clear && lab_link "$host" "$leg" up || return 1
		done
		lab_sh --timeout 60 "$host" bash "$here/guest-reset" "$legs" </dev/null || return 1
	done
}

lab_collect() { # lab_collect LOGS: what helps to understand a failure
	local host
	for host in $(lab_host_names "$hosts"); do
		lab_console "$host" >"$1/$host.console" 2>&1 || :
		lab_sh --timeout 20 "$host" sh -c 'dmesg | tail -n 200; ip -d addr; ip rule; ip route show table all
			ps axo pid,stat,etime,args; head -c 200000 /run/*.log 2>/dev/null' </dev/null >"$1/$host.state" 2>&1 || :
	done
}

lab_say() { # lab_say RESULT CASE SECONDS [REASON]: one line, written whole
	local about
	about=$(lab_case_field "$2" about)
	case $1 in
	passed) printf 'ok - %s: %s (%d s)\n' "$2" "$about" "$3" ;;
	skipped) printf 'ok - %s: %s # SKIP %s\n' "$2" "$about" "$4" ;;
	failed) printf 'not ok - %s: %s (%d s)\n# logs: %s\n' "$2" "$about" "$3" "$4" ;;
	esac
	echo "$1" >>"$lab_results"
}

# lab_group NUMBER WANTS CASE...: boots what they want and runs them one after the other.
lab_group() {
	local number=$1 wants=$2 name logs start status want hosts=1 legs=2 options=()
	shift 2
	for want in $wants; do
		local "${want?}"
		options+=("--${want%%=*}" "${want#*=}")
	done
	lab_set_name "test-$lab_test_pid-$number"
	lab_up "${options[@]}"
	for name in "$@"; do
		logs=$lab_logs/$name
		rm -rf "$logs"
		mkdir -p "$logs"
		start=$SECONDS status=0
		if ! lab_reset >"$logs/reset" 2>&1; then
			lab_down
			lab_up "${options[@]}"
			start=$SECONDS
		fi
		timeout -k 5 $lab_case_limit_s "$0" --name "$LAB_NAME" run-case "$name" "$logs" </dev/null >"$logs/output" 2>&1 || status=$?
		if [ $status = 0 ] && [ -e "$logs/skipped" ]; then
			lab_say skipped "$name" 0 "$(cat "$logs/skipped")"
		elif [ $status = 0 ]; then
			lab_say passed "$name" $((SECONDS - start))
		else
			lab_collect "$logs"
			lab_say failed "$name" $((SECONDS - start)) "$logs"
			tail -n 15 "$logs/output" | sed 's/^/#   /'
		fi
	done
	lab_down
}

# How many labs fit side by side: two cores and 4 GiB of memory each.
lab_jobs() {
	local by_memory
	by_memory=$(awk '/MemAvailable/ { print int($2 / 4194304) }' /proc/meminfo)
	echo $(($(nproc) / 2 < by_memory ? $(nproc) / 2 : by_memory)) | awk '{ print $1 < 1 ? 1 : $1 }'
}

lab_test() {
	local jobs tap=0 name wants number=0 cases=() passed failed skipped
	declare -A groups=()
	jobs=$(lab_jobs)
	while [ $# -gt 0 ]; do
		case $1 in
		--jobs) jobs=$2 && shift ;;
		--tap) tap=1 ;;
		-*) lab_die "test: unknown option '$1'" ;;
		*) cases+=("$1") ;;
		esac
		shift
	done
	if [ ${#cases[@]} -eq 0 ]; then
		mapfile -t cases < <(ls "$here/cases")
	fi
	for name in "${cases[@]}"; do
		[ -e "$here/cases/$name" ] || lab_die "no case '$name' in $here/cases"
		wants=$(lab_case_field "$name" wants)
		groups[$wants]+=" $name"
	done
	lab_prepare
	lab_test_pid=$$
	lab_logs=$LAB_BUILD/tests/lab/logs
	mkdir -p "$lab_logs"
	lab_results=$(mktemp "$lab_logs/results.XXXXXX")
	trap 'rm -f "$lab_results"' EXIT
	[ $tap = 0 ] || echo "1..${#cases[@]}"
	for wants in "${!groups[@]}"; do
		number=$((number + 1))
		# shellcheck disable=SC2086 # the group is a list of words
		lab_group $number "$wants" ${groups[$wants]} &
		while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
			wait -n || :
		done
	done
	wait
	passed=$(grep -c passed "$lab_results" || :)
	failed=$(grep -c failed "$lab_results" || :)
	skipped=$(grep -c skipped "$lab_results" || :)
	failed=$((${#cases[@]} - passed - skipped)) # a case without a result has failed
	[ $tap = 1 ] || printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" = 0 ]
}

lab_play() {
	. "$here/play.sh"
	lab_play_main "$@"
}
