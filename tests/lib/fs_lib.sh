# SPDX-License-Identifier: BSD-3-Clause
# A mounted file system for tests, without agents: sourced by the fs_* tests, run as root. Two network namespaces joined
# by two legs (veth pairs into two bridges in a third); launch_pair starts and restarts the two workers. The script's
# end removes everything, also after an error. All files are in memory, or below TMPDIR if FS_DISK is set.
#
# The script starts again in a private mount namespace. Otherwise the hosts of another test, which begin with a copy
# of the machine's mounts (hosts.sh), would have these mounts too, and keep their connections after an unmount here.
#
#	fs_up [LAUNCH_PAIR OPTION...]	starts everything; $mnt is the mount, $exp the export behind it
#					FS_OPTIONS adds some, e.g. --dpdk; FS_NETWORKS_MADE is called
#					before the workers start
#	fs_up_two [LAUNCH_PAIR OPTION...]	the same with a second client, front2, and its mount $mnt2
#	fs_tell LINE			sends a command to launch_pair
#	fs_wait_for PATTERN [SECONDS]	waits for a line from launch_pair and sets $fs_line; like wait_until, four times SECONDS
#					at most
#	fs_leg front|back LEG up|down	sets the carrier of a leg
#	fs_pid NAME			prints the pid of a worker
#	fs_stat NAME KEY		prints a counter of a worker's statistics
#	try NAME COMMAND...		runs a test and prints its TAP line
#	skip NAME REASON

if [ "$(id -u)" = 0 ] && [ "${FS_MOUNTS_OF:-}" != $$ ]; then # exec keeps the pid
	FS_MOUNTS_OF=$$ exec unshare --mount -- bash "$0" "$@"
fi

fs_name=plfs$$
fs_dir=
fs_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$fs_here/tap.sh"
. "$fs_here/pause.sh"
fs_build=${PLENUM_BUILD:-$fs_here/../..}
fs_bin=$fs_build/tests/e2e
fs_worker=${PLENUM_WORKER:-$fs_build/dataplane/plenum-worker}

fs_need_root() {
	[ "$(id -u)" = 0 ] && [ -c /dev/fuse ] && return
	echo "1..0 # SKIP namespaces and mounts need root and /dev/fuse"
	exit 0
}

fs_down() {
	local i workers
	set +e # the caller's: clean up everything, even if parts are gone
	if [ -n "${fs_launcher:-}" ]; then
		echo quit >&"${fs_in}" 2>/dev/null
		for i in $(seq 300); do
			kill -0 "$fs_launcher" 2>/dev/null || break
			read -r -t 0.1 -u "$fs_out" _
		done
		workers=$(pgrep -P "$fs_launcher")
		kill -9 "$fs_launcher" $workers 2>/dev/null
		wait "$fs_launcher" 2>/dev/null
		fs_launcher=
	fi
	umount -l "$mnt" 2>/dev/null
	umount -l "$mnt2" 2>/dev/null
	for i in a b s x; do # x: where a test made one more
		ip netns del "$fs_name$i" 2>/dev/null
	done
	[ -n "$fs_dir" ] || return
	[ -n "${FS_DISK:-}" ] || umount -l "$fs_dir" 2>/dev/null
	rm -rf --one-file-system "$fs_dir"
	fs_dir=
}

fs_networks() {
	local h leg n
	for h in a b s; do
		ip netns add "$fs_name$h"
		ip -n "$fs_name$h" link set lo up
	done
	for leg in 0 1; do
		ip -n "${fs_name}s" link add "switch$leg" type bridge
		ip -n "${fs_name}s" link set "switch$leg" up
		n=0
		for h in a b; do
			n=$((n + 1))
			ip -n "${fs_name}s" link add "$h$leg" type veth peer name "leg$leg" netns "$fs_name$h"
			ip -n "${fs_name}s" link set "$h$leg" master "switch$leg" up
			ip -n "$fs_name$h" link set "leg$leg" up
			ip -n "$fs_name$h" addr add "10.99.$((leg + 1)).$n/24" dev "leg$leg"
			# of front2 and back2
			ip -n "$fs_name$h" addr add "10.99.$((leg + 1)).$((n + 2))/24" dev "leg$leg"
			[ "$h" = b ] || ip -n "$fs_name$h" addr add "10.99.$((leg + 1)).5/24" dev "leg$leg" # of lane, the mount worker
			if [ -n "${FS_WIRE:-}" ]; then # segments as on a wire
				nsenter --net="/run/netns/$fs_name$h" ethtool -K "leg$leg" tso off gso off gro off
				nsenter --net="/run/netns/${fs_name}s" ethtool -K "$h$leg" tso off gso off gro off
			fi >/dev/null 2>&1
		done
	done
}

fs_up() {
	local fifo
	trap fs_down EXIT
	trap 'exit 130' INT TERM
	fs_dir=$(mktemp -d "${TMPDIR:-/tmp}/$fs_name.XXXXXX")
	[ -n "${FS_DISK:-}" ] || mount -t tmpfs tmpfs "$fs_dir"
	chmod 755 "$fs_dir"
	mnt=$fs_dir/mnt mnt2=$fs_dir/mnt2 exp=$fs_dir/export
	mkdir "$mnt" "$mnt2" "$exp"
	fs_networks
	${FS_NETWORKS_MADE:-:}
	fifo=$fs_dir/pipe
	mkfifo "$fifo.in" "$fifo.out"
	"$fs_bin/launch_pair" --worker "$fs_worker" --mount "$mnt" --export "$exp" \
		--ns-front "/run/netns/${fs_name}a" --ns-back "/run/netns/${fs_name}b" \
		${fs_second:+--mount2 "$mnt2"} ${FS_CORES:+--cores "$FS_CORES"} ${FS_LANES:+--lanes "$FS_LANES"} --spin-us "${FS_SPIN_US:-50}" ${FS_OPTIONS:-} "$@" <"$fifo.in" >"$fifo.out" 2>"$fs_dir/log" &
	fs_launcher=$!
	exec {fs_in}>"$fifo.in" {fs_out}<"$fifo.out"
	fs_wait_for "ready *" && fs_wait_for "ready *" || { fs_fail_log; exit 1; }
	[ -z "${FS_LANES:-}" ] || fs_wait_for "ready *" || exit 1
}

fs_up_two() {
	fs_second=1
	fs_up "$@" && fs_wait_for "ready *" || exit 1
	[ "${FS_CORES:-1}" = 1 ] || fs_wait_for "ready *" || exit 1
}

fs_fail_log() {
	sed 's/^/# /' "$fs_dir/log"
}

fs_tell() {
	echo "$*" >&"$fs_in"
}

fs_begun=
fs_wait_for() {
	local pattern=$1 until=$((SECONDS + 4 * ${2:-60}))
	while [ $SECONDS -le $until ]; do
		if ! read -r -t 1 -u "$fs_out" fs_line; then
			fs_begun+=$fs_line # the second ended in the middle of a line
		else
			fs_line=$fs_begun$fs_line fs_begun=
			case $fs_line in
			# shellcheck disable=SC2254
			$pattern) return 0 ;;
			failed*) echo "# $fs_line" && return 1 ;;
			esac
		fi
	done
	echo "# timed out waiting for: $pattern"
	return 1
}

fs_leg() {
	local h=a
	[ "$1" = back ] && h=b
	ip -n "${fs_name}s" link set "$h$2" "$3"
}

# The pid by which tests read a worker's memory and sleeps.
fs_pid() {
	fs_tell pid "$1"
	fs_wait_for "pid $1 *" && echo "${fs_line##* }"
}

fs_stat() {
	fs_tell stats "$1" && fs_wait_for "stats $1 *" && sed -n "s/.* $2=\([0-9]*\).*/\1/p" <<<"$fs_line"
}

try() { # in a separate shell, where a test may change folders and variables
	local name=$1 out status=0
	shift
	out=$(tap_run "$@" 2>&1) || status=1
	tap_result $status "$name" || {
		tail -n 20 <<<"$out" | tap_comment
		fs_fail_log | tail -n 20
	}
}

fs_sanitizers() { # before fs_down, which removes the log
	if [ -s "$fs_dir/log" ] && grep -q 'Sanitizer\|runtime error' "$fs_dir/log"; then
		tap_result 1 "sanitizers are silent" || fs_fail_log
	fi
}

done_testing() {
	fs_sanitizers
	tap_end
}
