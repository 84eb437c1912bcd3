# SPDX-License-Identifier: BSD-3-Clause
# Runs Plenum in the virtual hosts, for `play` and the cases. Sourced by lab.

# matches PATTERN: grep -q that reads to the end. Under pipefail a writer whose reader ends early fails.
matches() {
	local text
	text=$(cat) && grep -q -- "$1" <<<"$text"
}

plenum() { # plenum HOST ARGS...
	local host=$1
	shift
	lab_sh "$host" "$LAB_BUILD/agent/plenum" "$@" </dev/null
}

plenum_jq() { # plenum_jq HOST FILTER ARGS...: of the JSON that `plenum ARGS` prints
	local host=$1 filter=$2
	shift 2
	plenum "$host" -j "$@" | jq -r "$filter"
}

# agent_start HOST [SED-SCRIPT]: starts the agent with the host's shipped example, edited by the script. No host gets a
# cluster key, because cases also start hosts with other configurations.
agent_start() {
	sed /^cluster:/d "$here/../../etc/examples/$1.yaml" | sed "${2:-}" | # the edit may append to the last line
		lab_sh "$1" sh -c "mkdir -p /etc/plenum && cat >/etc/plenum/plenum.yaml"
	agent_run "$1"
}

agent_run() { # agent_run HOST [OPTION...]: starts it with the host's file, and with options of plenumd
	on "$1" sh -c "PLENUM_MODULE_DIR='$LAB_BUILD/dataplane' '$LAB_BUILD/agent/plenumd' ${*:2} >>/run/plenumd.log 2>&1 &"
}

# service_install: what `make install` makes, in the case's folder of logs. service_unpack HOST: the steps of a package's
# scripts. service_start HOST [SED-SCRIPT]: these and the steps of the administrator, with the host's shipped example, edited
# by the script.
service_install() {
	make -s -C "$LAB_BUILD" install DESTDIR="$lab_case_logs/root" >"$lab_case_logs/install" 2>&1
}

service_unpack() {
	script_on "$1" <<-EOF
		tar -C '$lab_case_logs/root' -c . | tar -C / -xm --keep-directory-symlink
		systemd-sysusers
		systemd-tmpfiles --create plenum.conf
		mkdir -p /run/systemd/system/plenumd.service.d
		printf '[Service]\nWatchdogSec=10\n' >/run/systemd/system/plenumd.service.d/test.conf
		systemctl daemon-reload
	EOF
}

service_start() {
	service_unpack "$1"
	sed /^cluster:/d "$here/../../etc/examples/$1.yaml" | sed "${2:-}" | lab_sh "$1" sh -c 'cat >/etc/plenum/plenum.yaml'
	on "$1" systemctl start plenumd # returns when the agent reports ready
	[ "$(property "$1" ActiveState)" = active ]
}

property() { # property HOST NAME: of the plenumd service
	on "$1" systemctl show -P "$2" plenumd
}

agent_kill() { # agent_kill HOST: by SIGKILL
	on "$1" sh -c 'kill -KILL "$(cat /run/plenum/plenumd.pid)"'
}

nothing_to_do() { # nothing_to_do HOST: the host is as its file says
	plenum "$1" plan | matches 'nothing to do'
}

workers_up() { # workers_up HOST: true if it has workers and all of them run
	plenum_jq "$1" '[.processes[] | select(.role != "MANAGEMENT") | .status] | length > 0 and all(. == "UP" or . == "DEGRADED")' processes | matches true
}

worker_replaced() { # worker_replaced HOST PID: another process than PID has taken its place, and all workers run
	[ "$(worker "$1" pid)" != "$2" ] && workers_up "$1"
}

leg_is() { # leg_is HOST LEG STATE [REASON]
	[ "$(plenum_jq "$1" ".legs[] | select(.name == \"$2\") | .state" status)" = "$3" ] || return
	[ -z "${4:-}" ] || plenum_jq "$1" ".legs[] | select(.name == \"$2\") | .reason" status | matches "$4"
}

reason_has() { # reason_has HOST TEXT: among the reasons of the host's state
	plenum_jq "$1" '.reasons[]' status | matches "$2"
}

event_has() { # event_has HOST TEXT
	plenum "$1" events | matches "$2"
}

# lines_begin: a program of host-a appends numbered lines to /mnt/scratch/lines, which it keeps open, until /run/stop
# exists; /run/load then says done, or what failed. lines_continue: lines from now on are answered.
lines_begin() {
	on host-a sh -c '(exec 3>>/mnt/scratch/lines; n=0
		while [ ! -e /run/stop ]; do echo "line $((n += 1))" >&3 || exit 1; echo $n >>/run/lines; done; echo done >/run/load) >/run/load 2>&1 &'
	within 20 lines_past 10
}

lines_continue() {
	within 30 lines_past "$(($(on host-a tail -n 1 /run/lines) + 10))"
}

lines_past() { # lines_past N: more than N lines are answered
	[ "$(on host-a tail -n 1 /run/lines)" -gt "$1" ]
}

copied() { # copied NAME: copies a file to the mount and back
	on host-a sh -ec "head -c 300000 /dev/urandom >/run/$1; cp /run/$1 /mnt/scratch/$1; echo 3 >/proc/sys/vm/drop_caches; cmp /run/$1 /mnt/scratch/$1"
	[ "$(on host-b sha256sum /srv/scratch/$1 | cut -d' ' -f1)" = "$(on host-a sha256sum /run/$1 | cut -d' ' -f1)" ]
}

worker() { # worker HOST FIELD: of its first worker
	plenum_jq "$1" "[.processes[] | select(.role != \"MANAGEMENT\")][0].$2" processes
}

# paths HOST LEG: the paths that are up on a leg, and bytes_on the bytes sent on it
paths() {
	plenum_jq "$1" "[.paths[] | select(.leg == \"$2\" and .up)] | length" status
}

paths_up() { # paths_up LEG N: so many paths of host-a are up on the leg
	[ "$(paths host-a "$1")" = "$2" ]
}

both_paths() { # host-a has one on each leg
	paths_up leg-a 1 && paths_up leg-b 1
}

bytes_on() {
	plenum_jq "$1" "[.paths[] | select(.leg == \"$2\") | .tx_bytes] | add // 0" status
}

# apply_edited HOST SED-SCRIPT [OPTION...]: applies its file as the script edits it; the output goes to the logs
apply_edited() {
	on "$1" sh -c "sed '$2' /etc/plenum/plenum.yaml >/run/staged" && plenum "$1" config stage /run/staged &&
		plenum "$1" apply "${@:3}" >"$lab_case_logs/applied" 2>&1
}

# cut_off HOST SED-SCRIPT TEXT: the edited configuration cuts off a peer that answered before; the agent rolls it back
# by itself, with TEXT as the reason
cut_off() {
	local status=0 began=$SECONDS
	apply_edited "$1" "$2" || status=$?
	cat "$lab_case_logs/applied"
	echo "rolled back after $((SECONDS - began)) s"
	[ $status = 3 ] && matches "$3" <"$lab_case_logs/applied"
	on "$1" ip -br addr show eth0 | matches 'UP *192.0.2'
	plenum "$1" restore
}
