# SPDX-License-Identifier: BSD-3-Clause
# Hosts for tests, the demonstration and the measurements: sourced by bash scripts, run as root.
#
# A host is a separate set of namespaces (network, mounts, host name, processes), so that the shipped examples run in it
# unchanged: it has a private /etc/plenum, /run, /mnt, /srv and /sys. Its process 1 is a keeper. When the keeper ends,
# even after the script was killed, the kernel ends all processes of the host and removes its mounts and devices.
# Another network namespace, the fabric, holds one bridge per leg (the switches) and one for management.
#
#   hosts_up [HOST...]            bring up the fabric and the hosts (default: host-a host-b)
#   hosts_down                    end them all; any end of the script does the same
#   hosts_keep                    keep them after the end of the script
#   host_run HOST CMD...          run a command in a host and wait
#   host_pid HOST                 the keeper's pid: `nsenter -t PID -a` enters the host
#   leg_carrier HOST LEG up|down  pull or plug the cable between a host and its switch; LEG counts from 1
#   hosts_wire                    limit the legs to frames of wire size
#   leg_silent HOST LEG on|off    the switch port drops all packets, while the carrier stays
#
# In a host eth0 is the management interface (192.0.2.N/24), eth1 and eth2 are the legs.

. "${BASH_SOURCE[0]%/*}/pause.sh"
. "${BASH_SOURCE[0]%/*}/jq.sh"

hosts_state=${HOSTS_STATE:-}
hosts_lifelines=()
HOSTS_LEGS=${HOSTS_LEGS:-2}

hosts_fabric() {
	local host_keeper
	read -r host_keeper <"$hosts_state/fabric.pid" || return
	hosts_exec nsenter --target "$host_keeper" --net -- "$@"
}

# hosts_keeper NAME UNSHARE_OPTIONS...: starts a keeper and writes its pid to NAME.pid. The keeper lives as long as this
# script holds the other end of its lifeline, or for good after it has read `keep`.
hosts_keeper() {
	local name=$1 unshare_pid lifeline
	shift
	mkfifo "$hosts_state/$name.ready" "$hosts_state/$name.lifeline"
	(hosts_close_lifelines && exec setsid unshare --fork --kill-child "$@" -- bash -c '
		trap : TERM INT HUP
		exec 3<"$1.lifeline" 4<>"$1.lifeline"
		echo up >"$1.ready"
		exec 4>&-
		while ! read -r word <&3; do [ $? -gt 128 ] || exit; done
		while :; do sleep infinity & wait $!; done' keeper "$hosts_state/$name" \
		</dev/null >/dev/null 2>&1) &
	unshare_pid=$!
	disown "$unshare_pid"
	echo "$unshare_pid" >"$hosts_state/$name.unshare"
	exec {lifeline}>"$hosts_state/$name.lifeline"
	hosts_lifelines+=("$lifeline")
	read -r _ <"$hosts_state/$name.ready"
	rm -f "$hosts_state/$name.ready"
	tr ' ' '\n' <"/proc/$unshare_pid/task/$unshare_pid/children" >"$hosts_state/$name.pid"
}

# hosts_keep: the hosts outlive this script.
hosts_keep() {
	local lifeline
	for lifeline in "${hosts_lifelines[@]}"; do
		echo keep >&"$lifeline"
	done
}

# Runs in a child of the script: closes the lifelines, so that only the script has them open.
hosts_close_lifelines() {
	local lifeline
	for lifeline in "${hosts_lifelines[@]}"; do
		exec {lifeline}>&-
	done
	hosts_lifelines=()
}

hosts_exec() {
	if [ "$BASH_SUBSHELL" -gt 0 ]; then
		hosts_close_lifelines
		"$@"
	else
		(hosts_close_lifelines && exec "$@")
	fi
}

host_pid() {
	cat "$hosts_state/$1.pid"
}

host_run() {
	local host_keeper
	read -r host_keeper <"$hosts_state/$1.pid" || return # `$(<...)` would cost a process
	hosts_exec nsenter --target "$host_keeper" --net --mount --uts --pid --ipc -- "${@:2}"
}

# host_mounts: runs inside a new host; gives it private directories to write to.
host_mounts() {
	mount --make-rprivate /
	mount -t sysfs sysfs /sys
	local dir
	for dir in /run /mnt /srv; do
		mount -t tmpfs -o mode=755,size=80% tmpfs "$dir"
	done
	for dir in /etc /var/lib; do # the host sees the machine's files there, and keeps its writes private
		mkdir -p "/run/own$dir/up" "/run/own$dir/work"
		mount -t overlay -o "lowerdir=$dir,upperdir=/run/own$dir/up,workdir=/run/own$dir/work" overlay "$dir"
	done
	mkdir -p /mnt/scratch /mnt/local /srv/scratch /run/plenum /etc/plenum
	ip link set lo up
}

hosts_cable() { # hosts_cable HOST NUMBER INDEX BRIDGE [MTU]: MTU of the switch port
	local host=$1 number=$2 index=$3 bridge=$4 port
	port=$host.$index
	hosts_fabric ip link add "$port" mtu "${5:-1500}" type veth peer name eth$index netns "$(host_pid "$host")"
	hosts_fabric ip link set "$port" master "$bridge" up
	if [ "$index" = 0 ]; then
		host_run "$host" ip addr add "192.0.2.$number/24" dev eth0
		host_run "$host" ip link set eth0 up
	fi
}

hosts_up() {
	local hosts=("$@") host leg number=10
	[ ${#hosts[@]} -gt 0 ] || hosts=(host-a host-b)
	[ -n "$hosts_state" ] || hosts_state=$(mktemp -d "${TMPDIR:-/tmp}/plenum-hosts.XXXXXX")
	mkdir -p "$hosts_state"
	hosts_keeper fabric --net
	for leg in $(seq 0 "$HOSTS_LEGS"); do
		hosts_fabric ip link add "switch$leg" type bridge
		hosts_fabric ip link set "switch$leg" up
	done
	for host in "${hosts[@]}"; do
		number=$((number + 1))
		hosts_keeper "$host" --net --mount --uts --ipc --pid --mount-proc
		host_run "$host" hostname "$host"
		host_run "$host" bash -c "$(declare -f host_mounts); host_mounts"
		for leg in $(seq 0 "$HOSTS_LEGS"); do
			hosts_cable "$host" "$number" "$leg" "switch$leg"
		done
	done
}

hosts_gone() {
	[ ! -d "/proc/$1" ]
}

hosts_down() {
	local file
	[ -n "$hosts_state" ] && [ -d "$hosts_state" ] || return 0
	for file in "$hosts_state"/*.pid; do
		[ -e "$file" ] || continue
		kill -KILL "$(<"$file")" 2>/dev/null || :
		kill -KILL "$(<"${file%.pid}.unshare")" 2>/dev/null || :
	done
	for file in "$hosts_state"/*.unshare; do
		[ ! -e "$file" ] || wait_until 10 hosts_gone "$(<"$file")"
	done
	rm -rf "$hosts_state"
	hosts_state=
	hosts_lifelines=()
}

# hugepages_hold: prevents other tests from changing the number of hugepages until this one ends.
hugepages_hold() {
	exec {hugepages_lock}>"${TMPDIR:-/tmp}/plenum-hugepages.lock"
	flock "$hugepages_lock"
}

# hugepages_reserve N: the same, and makes at least N hugepages available until then.
hugepages_before=
hugepages_reserve() {
	hugepages_hold
	hugepages_before=$(</proc/sys/vm/nr_hugepages)
	[ "$hugepages_before" -ge "$1" ] || echo "$1" >/proc/sys/vm/nr_hugepages
}

# hugepages_return: undoes hugepages_reserve, if that was called, once the processes that used them have ended.
hugepages_return() {
	[ -z "$hugepages_before" ] || hugepages_restore "$hugepages_before"
}

# hugepages_restore N: sets the number to N. Pages of processes that have just ended become free a little later, and would
# be kept if the number were set before that.
hugepages_restore() {
	wait_until 5 awk '/^HugePages_Total/ { total = $2 } /^HugePages_Free/ { free = $2 } END { exit total != free }' /proc/meminfo
	echo "$1" >/proc/sys/vm/nr_hugepages
}

# hosts_wire: the legs carry frames of wire size only, as cables do; otherwise veth passes 64 KiB.
hosts_wire() {
	local file host leg
	for file in "$hosts_state"/host-*.pid; do
		host=$(basename "$file" .pid)
		for leg in $(seq 1 "$HOSTS_LEGS"); do
			host_run "$host" ethtool -K "eth$leg" tso off gso off gro off tx-udp-segmentation off
			hosts_fabric ethtool -K "$host.$leg" tso off gso off gro off tx-udp-segmentation off
		done
	done >/dev/null
}

leg_carrier() {
	hosts_fabric ip link set "$1.$2" "$3"
}

leg_silent() {
	if [ "$3" = on ]; then
		hosts_fabric ip link set "$1.$2" nomaster
	else
		hosts_fabric ip link set "$1.$2" master "switch$2"
	fi
}

# wait_until SECONDS CMD...: polls until CMD succeeds; fails at the deadline. SECONDS is more than it takes on an idle
# machine; the load of the machine is unknown, so the deadline is four times that. Most conditions start several programs,
# which take processor time from what the script waits for. So the pauses become longer: to an eighth of the time waited,
# within 0.05 and 0.4 s.
wait_until() {
	local until_begun=${EPOCHREALTIME/./} until_limit=$(($1 * 4000000)) until_pause
	shift
	until "$@" >/dev/null 2>&1; do
		until_pause=$((${EPOCHREALTIME/./} - until_begun))
		[ $until_pause -lt $until_limit ] || return 1
		until_pause=$((until_pause < 400000 ? 50000 : until_pause > 3200000 ? 400000 : until_pause / 8))
		printf -v until_pause '0.%06d' $until_pause
		pause $until_pause
	done
}
