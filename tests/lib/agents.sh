# SPDX-License-Identifier: BSD-3-Clause
# Agents on hosts made of namespaces, and conditions of their state. Sourced by bash scripts after hosts.sh; e2e.sh does that
# for e2e scripts. The script sets $work, a folder for files, and $build, the build whose programs run; $agent_programs may
# name another folder with plenum and plenumd.
#
# Commands
#   on CMD...			runs CMD in $e2e_host, the host of a script that has only one
#   plenum ARGS...		`plenum ARGS` in $e2e_host
#   plenum_says EXIT TEXT ARGS...	the same; succeeds if it exits with EXIT and prints TEXT. Its output is in $work/said.
#   ctl HOST ARGS...		`plenum ARGS` in HOST
#   ctl_degraded HOST ARGS...	the same; exit status 2, which means a degraded host, counts as success
#   api HOST PATH CURL-OPTION...	a request to HOST's REST API; with -X, -T or -d it uses the admin socket
#   api_at SOCKET HOST PATH CURL-OPTION...	the same by the given socket: plenumd or plenumd-admin
#   api_get HOST PATH [VALUE...]	a GET without curl and jq, whose starts take most of the time of a short condition. VALUE prints values
#				of the answer: see tests/e2e/api_get.c
#   http_code HOST PATH CURL-OPTION...	prints the status code; the body of the answer is in $work/answer
#
# Configuration
#   config_put HOST <YAML	writes its standard input to HOST's /etc/plenum/plenum.yaml
#   example_put HOST [SED-SCRIPT]	the same with HOST's shipped example, edited by the script; a copy is $work/HOST.yaml
#   key_put HOST		writes the script's cluster key to HOST's /etc/plenum/cluster.key unless the file exists; each start
#				of an agent does so
#
# Agents: each runs in the background and logs to $work/HOST.log. Its environment has the variables in
# agent_env=(NAME=VALUE...).
#   agent_start HOST [OPTION...]	starts plenumd with these options
#   agent_start_bare HOST [OPTION...]	for tests of the agent alone: its workers only exchange launch messages, and log them below
#				$work/told. Its state is in /run/state. PLENUM_WORKER in agent_env replaces these workers.
#   agent_start_managed HOST [OPTION...]	the same under a service manager like systemd, which keeps the descriptors that the agent stores.
#				It starts the next agent with them when one is killed or agent_manager gets SIGUSR1
#   agent_pid HOST
#   agent_signal HOST SIGNAL
#   agent_reload HOST		by SIGHUP
#   agent_end HOST [SIGNAL]	by SIGTERM or SIGNAL; waits for its exit and returns its exit status
#   agent_kill HOST		by SIGKILL; waits until its process is gone. Workers and its other processes may live on.
#   agent_wait HOST		waits for the exit of the agent that was started last; its exit status
#   agent_stop HOST		by `plenum stop --force`; waits until none of its processes runs
#
# Conditions, for wait_until. Texts are basic regular expressions.
#   agent_answers HOST
#   agent_gone HOST		no process of an agent runs
#   process_gone HOST PID	the process has exited, even if its parent has not reaped it
#   state_is HOST STATE		starting, running, degraded, ...
#   status_has HOST CONDITION	a jq condition of the status
#   reason_has HOST TEXT	one of the reasons of the host's state
#   event_has HOST TEXT		an event since the agent's start; events_with HOST TEXT prints their number
#   worker_of HOST ROLE FIELD	prints a field of the first row with that role: MANAGEMENT (the agent), FRONTEND or COMPUTE
#   role_is_up HOST ROLE	the status of that row is UP
#   worker_is HOST ID STATUS	a worker's status; worker HOST ID VALUE... prints a value of its row in the process table, as api_get does

agents_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# ---- commands ----

on() {
	host_run "$e2e_host" "$@"
}

plenum() {
	ctl "$e2e_host" "$@"
}

plenum_says() {
	local want=$1 text=$2 status=0
	plenum "${@:3}" >"$work/said" 2>&1 || status=$?
	cat "$work/said"
	[ "$status" = "$want" ] && grep -q -- "$text" "$work/said"
}

ctl() {
	host_run "$1" "${agent_programs:-$build/agent}/plenum" "${@:2}"
}

ctl_degraded() {
	ctl "$@" || [ $? = 2 ]
}

api_at() {
	host_run "$2" curl -s -m 120 --unix-socket "/run/plenum/$1.sock" "http://plenum$3" "${@:4}"
}

api_get() {
	local host_keeper
	read -r host_keeper <"$hosts_state/$1.pid" && "$build/tests/e2e/api_get" "/proc/$host_keeper/root/run/plenum/plenumd.sock" "${@:2}"
}

api() {
	local socket=plenumd
	if [ $# = 2 ]; then
		api_get "$@"
		return
	fi
	[[ " ${*:3} " =~ \ -[XTd]\  ]] && socket=plenumd-admin
	api_at $socket "$@"
}

http_code() {
	api "$1" "$2" -o "$work/answer" -w '%{http_code}' "${@:3}"
}

# ---- configuration ----

config_put() {
	host_run "$1" tee /etc/plenum/plenum.yaml >/dev/null
}

example_put() {
	sed "${2:-}" "$agents_top/etc/examples/$1.yaml" >"$work/$1.yaml" && config_put "$1" <"$work/$1.yaml"
}

key_put() {
	[ -e "$work/cluster.key" ] || ctl "$1" secret generate "$work/cluster.key" || return
	host_run "$1" sh -c 'test -e /etc/plenum/cluster.key || install -D -m 600 "$1" /etc/plenum/cluster.key' key_put "$work/cluster.key"
}

# ---- agents ----

declare -A agent_jobs=()
agent_env=()

# A program that the script starts must not inherit the descriptors 8 and 9, by which the script ends its other programs.
agent_spawn() { # agent_spawn HOST COMMAND...
	key_put "$1"
	host_run "$1" env "${agent_env[@]}" "${@:2}" >>"$work/$1.log" 2>&1 8>&- 9>&- &
	agent_jobs[$1]=$!
}

agent_start() {
	agent_spawn "$1" "${agent_programs:-$build/agent}/plenumd" "${@:2}"
}

agent_start_bare() {
	local agent_env=(PLENUM_WORKER="$build/tests/e2e/agent_worker" PLENUM_TEST_DIR="$work/told" "${agent_env[@]}")
	agent_spawn "$1" "${agent_programs:-$build/agent}/plenumd" --state-dir /run/state "${@:2}"
}

agent_start_managed() {
	local agent_env=(PLENUM_WORKER="$build/tests/e2e/agent_worker" PLENUM_TEST_DIR="$work/told" "${agent_env[@]}")
	agent_spawn "$1" "$agents_top/tests/e2e/agent_manager" /run/notify "${agent_programs:-$build/agent}/plenumd" --state-dir /run/state "${@:2}"
}

agent_pid() {
	host_run "$1" cat /run/plenum/plenumd.pid
}

# nsenter stops itself when its program is stopped, and has to be continued too. A stopped nsenter that stays behind holds
# inherited pipes open, and make waits for their end.
agent_signal() {
	host_run "$1" kill "-$2" "$(agent_pid "$1")" || return
	[ "$2" != CONT ] || pkill -CONT -P "${agent_jobs[$1]}" || kill -CONT "${agent_jobs[$1]}"
}

agent_reload() {
	agent_signal "$1" HUP
}

agent_wait() {
	wait "${agent_jobs[$1]}" 2>/dev/null
}

agent_end() {
	agent_signal "$1" "${2:-TERM}" && agent_wait "$1"
}

agent_kill() {
	local pid
	pid=$(agent_pid "$1") && host_run "$1" kill -KILL "$pid" && wait_until 20 process_gone "$1" "$pid"
}

agent_stop() {
	ctl "$1" stop --force && wait_until 20 agent_gone "$1"
}

# ---- conditions ----

agent_answers() {
	[ -n "$(api_get "$1" /v1/status version)" ]
}

agent_gone() {
	! host_run "$1" pgrep '^plenumd'
}

process_gone() {
	! host_run "$1" test -e "/proc/$2" || host_run "$1" grep -q '^State:.Z' "/proc/$2/status"
}

state_is() {
	[ "$(api_get "$1" /v1/status state)" = "$2" ]
}

status_has() {
	api_get "$1" /v1/status | jq -e "$2" >/dev/null
}

reason_has() {
	api_get "$1" /v1/status reasons '[]' | grep -- "$2" >/dev/null
}

events_with() {
	api_get "$1" /v1/events events '[]' text | tac | sed '/^plenumd /q' | grep -c -- "$2"
}

event_has() {
	[ "$(events_with "$@")" -gt 0 ]
}

worker() {
	api_get "$1" /v1/processes processes "id=$1/$2" "${@:3}"
}

worker_is() {
	[ "$(worker "$1" "$2" status)" = "$3" ]
}

worker_of() {
	local rows
	rows=$(api_get "$1" /v1/processes processes "role=$2" "$3") && echo "${rows%%$'\n'*}"
}

role_is_up() {
	[ "$(worker_of "$1" "$2" status)" = UP ]
}
