# SPDX-License-Identifier: BSD-3-Clause
# rudp over DPDK compared with testpmd, which forwards over the same device without a protocol. Part of run; a separate
# file because testpmd is driven by its prompt.
#
# Both are two processes that share memory (memif), on a core each; a request and its answer are a packet there and one
# back, as are a packet of testpmd's flowgen and its return by macswap. The latency is the inverse of how often a second
# a single packet circulates between macswap at both ends.

readonly dpdk_socket=@plenum-perf-testpmd

hugepages_before='' testpmd_pids=()
dpdk_down() {
	[ ${#testpmd_pids[@]} = 0 ] || kill -KILL "${testpmd_pids[@]}" 2>/dev/null || :
	[ -z "$hugepages_before" ] || hugepages_restore "$hugepages_before"
	hugepages_before=
}

dpdk_testpmd() { # dpdk_testpmd NAME CORE MAIN-CORE ROLE MODE: driven by descriptor NAME_in
	local name=$1 core=$2 main=$3 role=$4 mode=$5
	mkfifo "$work/$name.in"
	stdbuf -oL dpdk-testpmd --in-memory --no-pci --no-telemetry -m 64 --lcores "0@$main,1@$core" \
		--vdev "net_memif0,role=$role,socket=$dpdk_socket" -- --forward-mode="$mode" --total-num-mbufs=4096 -i \
		<"$work/$name.in" >"$work/$name.log" 2>&1 &
	testpmd_pids+=($!)
}

dpdk_links() { # polls the client until it is connected
	echo "show port info 0" >&8
	grep -q '^Link status: up' "$work/flowgen.log"
}

dpdk_forwarded() { # testpmd has printed how many packets came back
	grep -q 'Forward statistics' "$work/flowgen.log"
}

# Packets a second there and back, of as many as flowgen sends, or of one by macswap.
dpdk_forwarding() { # dpdk_forwarding flowgen|macswap
	local start end mode=$1 tx_first=''
	[ "$mode" != macswap ] || tx_first=' tx_first 1'
	dpdk_testpmd macswap 1 0 server macswap
	exec 7>"$work/macswap.in"
	wait_until 20 grep -q '^testpmd>' "$work/macswap.log" || die "testpmd does not start"
	echo start >&7
	dpdk_testpmd flowgen 0 1 client "$mode"
	exec 8>"$work/flowgen.in"
	wait_until 20 dpdk_links || die "testpmd's ports do not connect"
	[ "$mode" != macswap ] || echo "set burst 1" >&8
	start=$EPOCHREALTIME
	echo "start$tx_first" >&8
	pause "$(awk "BEGIN { print $ms / 1e3 }")"
	echo stop >&8
	end=$EPOCHREALTIME
	wait_until 20 dpdk_forwarded || die "testpmd does not stop"
	awk -v s="$(awk "BEGIN { print $end - $start }")" '$1 == "RX-packets:" { n = $2 } END { print n / s }' \
		"$work/flowgen.log"
	echo quit >&8
	echo quit >&7
	exec 7>&- 8>&-
	wait "${testpmd_pids[@]}"
	testpmd_pids=()
	rm "$work"/{macswap,flowgen}.in
}

part_dpdk() {
	local round
	packages_install dpdk-dev
	hugepages_hold
	hugepages_before=$(</proc/sys/vm/nr_hugepages)
	[ "$hugepages_before" -ge 128 ] || echo 128 >/proc/sys/vm/nr_hugepages
	rounds_begin "$rounds"
	while round_next; do
		PLENUM_MODULE_DIR=$build/dataplane "$build/tests/perf/rudp_dpdk" --rounds 1 --ms "$ms" |
			awk '$1 == "rudp" { print $2, $4, $5 }' >>"$work/dpdk.rudp"
		dpdk_forwarding flowgen >>"$work/dpdk.testpmd"
		dpdk_forwarding macswap | awk '{ print 1e6 / $1 }' >>"$work/dpdk.testpmd.one"
	done
	printf '\n%-10s %12s %12s %8s %16s %8s   (memif, 32 bytes; testpmd: 64 bytes)\n' dpdk 'one: p50 us' 'mean us' ratio 'there and back/s' ratio
	awk -v mean="$(cut -d' ' -f3 "$work/dpdk.rudp" | median)" -v one="$(median <"$work/dpdk.testpmd.one")" -v us="$(cut -d' ' -f1 "$work/dpdk.rudp" | median)" -v rudp="$(cut -d' ' -f2 "$work/dpdk.rudp" | median)" \
		-v testpmd="$(median <"$work/dpdk.testpmd")" -v ratios="$work/ratios" 'BEGIN {
		printf "%-10s %12.2f %12.2f %8s %16.0f\n%-10s %12s %12.2f %7.2fx %16.0f %7.2fx\n", "rudp", us, mean, "", rudp, "testpmd", "-", one, one / mean, testpmd, rudp / testpmd
		print "dpdk one testpmd", one / mean >>ratios
		print "dpdk 32B testpmd", rudp / testpmd >>ratios }'
	echo "(one at a time: ratio of the means; medians of $round rounds of $ms ms)"
	dpdk_down
}

part_ring() {
	[ -x "$build/tests/perf/rudp_ring" ] || die "it was built without DPDK"
	PLENUM_MODULE_DIR=$build/dataplane "$build/tests/perf/rudp_ring" --rounds "$rounds" --ms 300
}
