# SPDX-License-Identifier: BSD-3-Clause
# Sourced by lab: runs the cases. A case is a file in cases/ with two comment lines, `# about: ...` and
# `# wants: hosts=2 legs=2 nics=igb`, and a function case_run. It runs with `set -e`: the first command that
# fails fails the case. Cases of equal wants share booted hosts; between them the hosts are reset.

lab_cases=${LAB_CASES:-$here/cases}
lab_case_limit_s=${LAB_CASE_LIMIT_S:-900} # generous: a busy machine emulates slowly

# --- what a case may call ----------------------------------------------------------------------

on() { # on HOST CMD...
	lab_sh "$@" </dev/null
}

script_on() { # script_on HOST < SCRIPT: runs a bash script with `set -e`
	{ declare -f matches && cat; } | lab_sh "$1" bash -euo pipefail -s
}

link() {
	lab_link "$@"
}

# within SECONDS CMD...: tries until it succeeds, fails at the deadline. SECONDS is more than it takes on an idle
# machine; the load of the machine is unknown, so the deadline is four times that. The pauses become longer, up to a second:
# a program that a host starts takes the emulator's time from what the case waits for.
within() {
	local within_begun=${EPOCHREALTIME/./} within_limit=$(($1 * 4000000)) within_pause
	shift
	until "$@" >/dev/null 2>&1; do
		within_pause=$((${EPOCHREALTIME/./} - within_begun))
		if [ $within_pause -ge $within_limit ]; then
			echo "did not happen in time: $*" >&2
			"$@" >&2 || return 1
			return 0
		fi
		within_pause=$((within_pause < 800000 ? 100 : within_pause > 8000000 ? 1000 : within_pause / 8000))
		printf -v within_pause '%d.%03d' $((within_pause / 1000)) $((within_pause % 1000))
		pause $within_pause
	done
}

fails() { # fails CMD...: succeeds when CMD fails
	! "$@"
}

skip() { # skip REASON: ends the case
	echo "$1" >"$lab_case_logs/skipped"
	exit 0
}

addresses() { # addresses LEG...: 10.LEG.0.1 on host-a, 10.LEG.0.2 on host-b, ..., links up
	local leg name n=0 script
	for name in $(lab_host_names "$hosts"); do
		n=$((n + 1)) script=''
		for leg in "$@"; do
			script+="ip addr add 10.$leg.0.$n/24 dev eth$((leg + 1)); ip link set eth$((leg + 1)) up;"
		done
		on "$name" sh -ec "$script"
	done
	for leg in "$@"; do
		for ((n = 2; n <= hosts; n++)); do
			within 20 on host-a ping -c 1 -W 1 "10.$leg.0.$n"
		done
	done
}

# bond HOST N OPTIONS...: makes bond0 of eth1 and eth2 with 10.50.0.N, and replaces an existing one
bond() {
	local host=$1 n=$2
	shift 2
	script_on "$host" <<-EOF
		modprobe bonding max_bonds=0
		ip link del bond0 2>/dev/null || :
		ip link add bond0 type bond $*
		for dev in eth1 eth2; do ip link set \$dev down && ip link set \$dev master bond0; done
		ip addr add 10.50.0.$n/24 dev bond0
		ip link set bond0 up
	EOF
}

bond_has_ports() { # bond_has_ports HOST N: so many ports are in the active aggregator
	[ "$(on "$1" awk '/^Active Aggregator/ { a = 1 } a && /Number of ports/ { print $4; exit }' /proc/net/bonding/bond0)" = "$2" ]
}

# --- the runner --------------------------------------------------------------------------------

lab_case_field() { # lab_case_field CASE about|wants|soak
	sed -n "s/^# $2: *//p" "$lab_cases/$1"
}

# lab_all_cases: the cases outside the soak, or with an argument those of the soak
lab_all_cases() {
	local name
	for name in $(ls "$lab_cases"); do
		if [ -n "$(lab_case_field "$name" soak)" ]; then
			[ -z "${1:-}" ] || echo "$name"
		elif [ -z "${1:-}" ]; then
			echo "$name"
		fi
	done
}

# lab_case_wants CASE: all its wants in one canonical form
lab_case_wants() {
	local hosts=2 legs=2 nics=igb init=channel cpus=2 memory=1536 isolated='' apparmor=0 want
	for want in $(lab_case_field "$1" wants); do
		case ${want%%=*} in
		hosts | legs | nics | init | cpus | memory | isolated | apparmor) local "$want" ;;
		*) lab_die "case $1 wants '$want': hosts=, legs=, nics=, init=, cpus=, memory=, isolated= or apparmor=" ;;
		esac
	done
	echo "hosts=$hosts legs=$legs nics=$nics init=$init cpus=$cpus memory=$memory isolated=$isolated apparmor=$apparmor"
}

# lab_run_case CASE [LOGS]: runs it in a separate process, with the lab up
lab_run_case() {
	[ -e "$lab_cases/${1:?case: which?}" ] || lab_die "no case '$1' in $lab_cases"
	lab_case_logs=${2:-$LAB_BUILD/tests/lab/logs/$1}
	mkdir -p "$lab_case_logs"
	lab_find
	. "$lab_state/wants"
	. "$lab_cases/$1"
	set -E
	trap lab_case_blame ERR
	case_run
}

lab_case_blame() { # the innermost line of the case that failed
	local i
	for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
		[ "${BASH_SOURCE[i]%/*}" = "$lab_cases" ] || continue
		echo "${BASH_SOURCE[i]##*/}:${BASH_LINENO[i - 1]}: failed: $(sed -n "${BASH_LINENO[i - 1]}s/^[[:space:]]*//p" "${BASH_SOURCE[i]}")" >&2
		trap - ERR
		return
	done
}

# Puts the hosts and switches back as they were after boot; fails where that cannot be done.
lab_reset() {
	local host touched port pid pids=()
	lab_find
	for touched in "$lab_run"/*.touched; do
		[ -e "$touched" ] || continue
		port=${touched##*/} port=${port%.touched}
		lab_link "${port%.*}" "${port##*.}" up || return 1
		rm -f "$touched"
	done
	"$LAB_BUILD/tests/lab/switch" --set "$lab_run" all clear || return 1
	for host in $(lab_host_names "$hosts"); do
		lab_runs "$host" || return 1
		lab_sh --timeout 240 "$host" bash "$here/guest-reset" "$legs" </dev/null &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || return 1
	done
}

lab_collect() { # lab_collect LOGS: keeps what helps to understand a failure
	local host
	for host in $(lab_host_names "$hosts"); do
		lab_console "$host" >"$1/$host.console" 2>&1 || :
		lab_runs "$host" 2>/dev/null || continue
		lab_sh --timeout 30 "$host" sh -c 'dmesg | tail -n 300; ip -d -s addr; ip rule; ip route show table all
			ps axo pid,stat,etime,args; [ ! -d /run/systemd/system ] || journalctl --no-pager -n 300' </dev/null >"$1/$host.state" 2>&1 || :
		mkdir -p "$1/$host"
		lab_sh --timeout 30 "$host" sh -c 'cd /run && tar -c *.log 2>/dev/null' </dev/null 2>/dev/null | tar -C "$1/$host" -x 2>/dev/null || :
	done
}

lab_say() { # lab_say RESULT CASE SECONDS [REASON-TO-SKIP | LOGS [WHAT-FAILED]]: prints the result line in one write
	local about
	about=$(lab_case_field "$2" about)
	case $1 in
	passed) printf 'ok - %s: %s (%d s)\n' "$2" "$about" "$3" ;;
	skipped) printf 'ok - %s: %s # SKIP %s\n' "$2" "$about" "$4" ;;
	failed) printf 'not ok - %s: %s (%d s)%s\n# logs: %s\n' "$2" "$about" "$3" "${5:+: ${5//'#'/}}" "$4" ;;
	esac
	echo "$1" >>"$lab_results"
}

# lab_case_result CASE LOGS: runs it in the hosts that are up
lab_case_result() {
	local name=$1 logs=$2 start=$SECONDS status=0
	[ $lab_capturing = 0 ] || lab_capture "$logs/switches.pcapng"
	timeout -k 5 $lab_case_limit_s "$0" --name "$LAB_NAME" case "$name" "$logs" </dev/null >"$logs/output" 2>&1 || status=$?
	[ $lab_capturing = 0 ] || lab_capture off || :
	if [ $status = 0 ] && [ -e "$logs/skipped" ]; then
		lab_say skipped "$name" 0 "$(cat "$logs/skipped")"
	elif [ $status = 0 ]; then
		rm -f "$logs/switches.pcapng"
		lab_say passed "$name" $((SECONDS - start))
	else
		[ $status != 124 ] || echo "$name: failed: took longer than $lab_case_limit_s s" >>"$logs/output"
		lab_collect "$logs"
		lab_say failed "$name" $((SECONDS - start)) "$logs" "$(sed -n '/: failed: /h; ${x;p}' "$logs/output")"
		tail -n 15 "$logs/output" | sed 's/^/#   /'
	fi
}

# The check has used up its time: see tests/run_test.
lab_time_is_over() {
	[ -n "${PLENUM_CHECK_END:-}" ] && [ "$(date +%s)" -ge "$PLENUM_CHECK_END" ]
}

lab_skip_late() { # lab_skip_late CASE...
	local name
	for name in "$@"; do
		lab_say skipped "$name" 0 "the time of the whole check was used up before this case could begin"
	done
}

# lab_group NUMBER WANTS CASE...: boots the hosts that WANTS describes and runs the cases one after the other.
lab_group() {
	local number=$1 wants=$2 want name logs hosts legs nics init cpus memory isolated apparmor options=()
	shift 2
	if lab_time_is_over; then
		lab_skip_late "$@"
		return
	fi
	for want in $wants; do
		local "$want"
		options+=("--${want%%=*}" "${want#*=}")
	done
	lab_set_name "test-$number"
	logs=$lab_logs/boot-$number
	lab_left=("$@") lab_left_log=$logs
	exec {lab_out}>&1
	trap 'lab_group_ends >&$lab_out' EXIT # it may end where output goes to the log
	lab_up "${options[@]}" >"$logs" 2>&1
	while [ $# -gt 0 ]; do
		if lab_time_is_over; then
			lab_skip_late "$@"
			lab_left=()
			break
		fi
		rm -rf "${lab_logs:?}/$1"
		mkdir -p "$lab_logs/$1"
		if ! lab_reset >"$lab_logs/$1/reset" 2>&1; then
			echo "# before $1 the hosts could not be reset; booting them again ($lab_logs/$1/reset)"
			{ lab_down && lab_up "${options[@]}"; } >"$logs" 2>&1
		fi
		lab_case_result "$1" "$lab_logs/$1"
		shift
		lab_left=("$@")
	done
	rm -f "$logs"
	lab_down
}

# Fails the remaining cases when a group ends early, for example because a host does not boot.
lab_group_ends() {
	local name
	[ ${#lab_left[@]} -gt 0 ] || return 0
	for name in "${lab_left[@]}"; do
		lab_say failed "$name" 0 "$lab_left_log"
	done
	tail -n 15 "$lab_left_log" | sed 's/^/#   /'
}

# How many labs fit side by side: each needs two cores and 4 GiB of memory.
lab_jobs() {
	awk -v cores="$(nproc)" '/MemAvailable/ { n = int($2 / 4194304); c = int(cores / 2); n = c < n ? c : n; print n < 1 ? 1 : n }' /proc/meminfo
}

lab_test() {
	local jobs tap=0 soak='' name wants number=0 cases=() order=() passed skipped failed
	declare -A groups=()
	jobs=$(lab_jobs)
	lab_capturing=${LAB_CAPTURE:-0}
	while [ $# -gt 0 ]; do
		case $1 in
		--jobs) jobs=${2:?--jobs: how many?} && shift ;;
		--tap) tap=1 ;;
		--soak) soak=1 ;;
		--capture) lab_capturing=1 ;;
		-*) lab_die "test: unknown option '$1'" ;;
		*) cases+=("$1") ;;
		esac
		shift
	done
	[ ${#cases[@]} -gt 0 ] || mapfile -t cases < <(lab_all_cases $soak)
	for name in "${cases[@]}"; do
		[ -e "$lab_cases/$name" ] || lab_die "no case '$name' in $lab_cases"
		wants=$(lab_case_wants "$name")
		[ -n "${groups[$wants]:-}" ] || order+=("$wants")
		groups[$wants]+=" $name"
	done
	lab_prepare
	mkdir -p "$lab_state_root"
	mount -t tmpfs -o mode=700 labs "$lab_state_root" # in this command's own namespace: it ends with it
	lab_logs=$LAB_BUILD/tests/lab/logs
	mkdir -p "$lab_logs"
	lab_results=$lab_state_root/results
	: >"$lab_results"
	[ $tap = 0 ] || echo "1..${#cases[@]}"
	for wants in "${order[@]}"; do
		number=$((number + 1))
		# shellcheck disable=SC2086 # the group is a list of words
		lab_group $number "$wants" ${groups[$wants]} &
		while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
			wait -n || :
		done
	done
	wait
	passed=$(grep -c passed "$lab_results" || :)
	skipped=$(grep -c skipped "$lab_results" || :)
	failed=$((${#cases[@]} - passed - skipped)) # a case without a result has failed
	[ $tap = 1 ] || printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" = 0 ]
}
