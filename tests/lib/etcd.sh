# SPDX-License-Identifier: BSD-3-Clause
# Members of an etcd cluster, each in a namespace of its management network. Sourced by e2e scripts after e2e.sh.
#
#   etcd_up N			brings up N members etcd-1, ... at 192.0.2.101, ..., after hosts_up, and starts them
#   etcd_start I [OPTION...]	starts member I, with its data of an earlier start
#   etcd_signal SIGNAL [I...]	sends a signal to these members; without I to all
#   etcd_gone I			no etcd runs in the namespace of member I
#   etcd_post I PATH JSON	a request to the JSON gateway of member I, by its namespace
#   etcd_leader			prints the number of the member that leads
#   etcd_endpoints		prints the URLs of all members, separated by commas
#
# etcd_scheme=https and etcd_flags=(...) before etcd_up give all members TLS.

etcd_n=0
etcd_scheme=http
etcd_flags=()
etcd_curl=()
etcd_jobs=()

etcd_endpoints() {
	local i list=
	for i in $(seq "$etcd_n"); do
		list=$list${list:+, }\"$etcd_scheme://192.0.2.$((100 + i)):2379\"
	done
	echo "$list"
}

etcd_start() {
	local i=$1 k members=
	for k in $(seq "$etcd_n"); do
		members=$members${members:+,}etcd-$k=http://192.0.2.$((100 + k)):2380
	done
	host_run "etcd-$i" etcd --name "etcd-$i" --data-dir "$work/etcd-$i" \
		--listen-client-urls "$etcd_scheme://0.0.0.0:2379" --advertise-client-urls "$etcd_scheme://192.0.2.$((100 + i)):2379" \
		--listen-peer-urls "http://192.0.2.$((100 + i)):2380" --initial-advertise-peer-urls "http://192.0.2.$((100 + i)):2380" \
		--initial-cluster "$members" --log-level error "${etcd_flags[@]}" "${@:2}" >>"$work/etcd-$i.log" 2>&1 8>&- 9>&- &
	etcd_jobs[i]=$!
}

etcd_up() {
	local i
	etcd_n=$1
	for i in $(seq "$etcd_n"); do
		hosts_keeper "etcd-$i" --net --mount --uts --ipc --pid --mount-proc
		hosts_cable "etcd-$i" $((100 + i)) 0 switch0
		host_run "etcd-$i" ip link set lo up
		etcd_start "$i"
	done
}

etcd_signal() {
	local signal=$1 i
	shift
	[ $# -gt 0 ] || set -- $(seq "$etcd_n")
	for i; do
		host_run "etcd-$i" pkill "-$signal" -x etcd
		# nsenter stops itself when its program is stopped
		[ "$signal" != CONT ] || pkill -CONT -P "${etcd_jobs[i]}" || kill -CONT "${etcd_jobs[i]}"
	done
}

etcd_gone() {
	! host_run "etcd-$1" pgrep -x etcd
}

etcd_post() {
	host_run "etcd-$1" curl -s -m 10 "${etcd_curl[@]}" -d "$3" "$etcd_scheme://192.0.2.$((100 + $1)):2379$2"
}

etcd_leader() {
	local i status
	for i in $(seq "$etcd_n"); do
		status=$(etcd_post "$i" /v3/maintenance/status '{}') || continue
		jq -e '.leader != null and .leader == .header.member_id' <<<"$status" >/dev/null && echo "$i" && return
	done
	return 1
}
