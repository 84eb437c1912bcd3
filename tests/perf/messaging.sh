# SPDX-License-Identifier: BSD-3-Clause
# rudp compared with the messaging libraries UCX and libfabric, each by its project's measuring program. Part of run; a
# separate file because it drives other programs.
#
# Two namespaces and a veth pair like those of rudp_vs_tcp, client on core 0, server on core 1. The libraries' programs
# play ping-pong of one size and print half a round trip: a request of 64 bytes and its answer of 4 KiB take a half of
# each size's.

readonly messaging_client=plenum-msg-c messaging_server=plenum-msg-s messaging_ip=10.99.9.2

messaging_down() {
	local netns
	for netns in $messaging_client $messaging_server; do
		[ ! -e /run/netns/$netns ] || ip netns del $netns
	done
}

messaging_up() {
	messaging_down
	ip netns add $messaging_client
	ip netns add $messaging_server
	ip -n $messaging_client link add leg mtu 1500 type veth peer name leg mtu 1500 netns $messaging_server
	ip -n $messaging_client addr add 10.99.9.1/24 dev leg
	ip -n $messaging_server addr add $messaging_ip/24 dev leg
	ip -n $messaging_client link set lo up
	ip -n $messaging_server link set lo up
	ip -n $messaging_client link set leg up
	ip -n $messaging_server link set leg up
	# UCX rejects a device that is not up, and the kernel may report that a second after the first frame.
	wait_until 10 messaging_is_up || die "the namespaces' link does not come up"
}

messaging_is_up() {
	local netns
	for netns in $messaging_client $messaging_server; do
		[ "$(ip -n "$netns" -j link show leg | jq -r '.[0].operstate')" = UP ] || return 1
	done
}

messaging_listens() { # messaging_listens PORT
	ip netns exec $messaging_server ss -Hltn "sport = :$1" | grep -q .
}

# Starts the server, waits until it listens on PORT, runs the client against it, and prints the client's output.
messaging_run() { # messaging_run PORT PROGRAM [ARGUMENT...]
	local port=$1 server
	shift
	ip netns exec $messaging_server taskset -c 1 timeout 60 "$@" >"$work/messaging.log" 2>&1 &
	server=$!
	wait_until 10 messaging_listens "$port" || die "$1 does not listen"
	ip netns exec $messaging_client taskset -c 0 timeout 60 "$@" $messaging_ip 2>>"$work/messaging.log" || die "$1 failed"
	wait $server || die "the server's $1 failed"
}

# The last line of ucx_perftest: iterations, 50th percentile, average and overall latency; bandwidth.
ucx_figure() { # ucx_figure FIELD TEST SIZE ITERATIONS [ARGUMENT...]
	local field=$1 test=$2 size=$3 iterations=$4
	shift 4
	UCX_TLS=tcp UCX_NET_DEVICES=leg UCX_LOG_LEVEL=error messaging_run 13337 ucx_perftest -t "$test" -s "$size" \
		-n "$iterations" -w $((iterations / 10)) -f "$@" | awk -v field="$field" 'NF { v = $field } END { print v }'
}

# The last line of fi_pingpong: bytes, sent, acknowledged, total, time, MB/s, microseconds a transfer.
libfabric_latency() { # libfabric_latency SIZE
	messaging_run 47592 fi_pingpong -p 'udp;ofi_rxd' -e rdm -S "$1" -I 5000 | awk 'END { print $7 }'
}

messaging_round() {
	local out=$work/messaging.rudp.out name request answer
	"$build/tests/perf/rudp_vs_tcp" --rounds 3 >"$out" # the first is a warm-up
	for name in rudp TCP; do
		awk -v name=$name '$1 == name && NF == 6 { print $2 }' "$out" >>"$work/messaging.small.$name"
		awk -v name=$name '$1 == name && NF == 6 { print $5 }' "$out" >>"$work/messaging.bulk.$name"
		awk -v name=$name '$1 == name && NF == 6 { print $6 }' "$out" >>"$work/messaging.tiny.$name"
	done
	messaging_up
	request=$(ucx_figure 2 tag_lat 64 20000)
	answer=$(ucx_figure 2 tag_lat 4096 20000)
	awk "BEGIN { print $request + $answer }" >>"$work/messaging.small.UCX"
	ucx_figure 6 tag_bw $((1 << 20)) 1000 -O 4 >>"$work/messaging.bulk.UCX"
	ucx_figure 8 ucp_am_bw 64 200000 -O 32 >>"$work/messaging.tiny.UCX"
	request=$(libfabric_latency 64)
	answer=$(libfabric_latency 4096)
	awk "BEGIN { print $request + $answer }" >>"$work/messaging.small.libfabric"
	messaging_down
}

messaging_line() { # messaging_line NAME LOAD UNIT SYSTEM...: name, unit and a figure for each
	local name=$1 load=$2 unit=$3 system
	shift 3
	printf '%s %s' "$name" "$unit"
	for system; do
		printf ' %s' "$(median <"$work/messaging.$load.$system")"
	done
	echo
}

part_messaging() {
	local round
	packages_install ucx-utils libfabric-bin jq
	rounds_begin "$rounds"
	while round_next; do
		messaging_round
	done
	printf '\n%-10s %-6s %10s %18s %18s %18s\n' messaging unit rudp TCP UCX libfabric
	{
		messaging_line 64B-4KiB small us rudp TCP UCX libfabric
		messaging_line 1MiBx4 bulk MiB/s rudp TCP UCX
		messaging_line 64Bx32 tiny 1/s rudp TCP UCX
	} | awk -v ratios="$work/ratios" -v names="TCP UCX libfabric" 'BEGIN { split(names, name) }
		{ printf "%-10s %-6s %10.2f", $1, $2, $3
		for (i = 4; i <= NF; i++) {
			times = $2 == "us" ? $i / $3 : $3 / $i
			printf " %9.2f %7.2fx", $i, times
			print "messaging", $1, name[i - 3], times >>ratios
		}
		print "" }'
	echo "(x: how many times as fast as the peer; UCX by tcp, its active messages go one way where rudp's requests are"
	echo " answered; libfabric by udp;ofi_rxd; medians of $round rounds)"
}
