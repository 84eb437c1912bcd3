# SPDX-License-Identifier: BSD-3-Clause
# Packets by our ports on a kernel interface compared with testpmd by DPDK's drivers on the same one. Part of run. One
# thread has both ends of a veth pair and echoes at each: port_packets keeps a burst of 32 circulating, testpmd uses
# macswap at each end. Rates are per processor time, which the machine's other load does not affect.

packets_pid=''
packets_down() {
	[ -z "$packets_pid" ] || kill -KILL "$packets_pid" 2>/dev/null || :
	packets_pid=''
	ip netns del plenum-packets 2>/dev/null || :
}

packets_up() { # a separate cable for each arm, so that none inherits packets of another
	packets_down
	ip netns add plenum-packets
	ip -n plenum-packets link add pk0 type veth peer name pk1
	for end in pk0 pk1; do
		ip netns exec plenum-packets ethtool -K $end tso off gso off gro off >/dev/null
		ip -n plenum-packets link set $end up
	done
}

packets_ours() { # packets_ours WAY
	packets_up
	PLENUM_MODULE_DIR=$build/dataplane ip netns exec plenum-packets \
		"$build/tests/perf/port_packets" "$1" pk0 pk1 "$ms" 2>"$work/packets.log" >"$work/packets.line"
	[ -z "$(ip -d -n plenum-packets link | grep prog/xdp)" ] || die "a program is left on the interface"
	awk '{ print $3 }' "$work/packets.line" >>"$work/packets.$1"
}

packets_said() { # packets_said N: the prompt has appeared that often
	[ "$(grep -ac '^testpmd>' "$work/packets.log")" -ge "$1" ]
}

packets_ticks() { # processor time of testpmd's threads
	cat "/proc/$packets_pid/task"/*/stat | sed 's/.*) //' | awk '{ n += $12 + $13 } END { print n }'
}

packets_testpmd() { # packets_testpmd DRIVER
	local driver=$1 before after
	packets_up
	rm -f "$work/packets.in" "$work/packets.log" && mkfifo "$work/packets.in" && : >"$work/packets.log"
	exec 7<>"$work/packets.in"
	ip netns exec plenum-packets stdbuf -oL dpdk-testpmd --in-memory --no-pci --no-telemetry -m 160 \
		--lcores 0@0,1@1 --vdev "net_${driver}0,iface=pk0" --vdev "net_${driver}1,iface=pk1" -- \
		--forward-mode=macswap --port-topology=loop --total-num-mbufs=32768 -i <&7 >"$work/packets.log" 2>&1 7>&- &
	packets_pid=$!
	wait_until 20 packets_said 1 || die "testpmd does not start"
	echo "start tx_first 1" >&7
	wait_until 20 packets_said 2 || die "testpmd does not forward"
	echo "clear port stats all" >&7
	wait_until 20 packets_said 3 || die "testpmd says nothing"
	before=$(packets_ticks)
	pause "$(awk "BEGIN { print $ms / 1e3 }")"
	echo "show port stats all" >&7
	wait_until 20 packets_said 4 || die "testpmd says nothing"
	after=$(packets_ticks)
	awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" '/NIC statistics/ { said = 1 }
		said && /RX-packets:/ { n += $2 } END { print n / 2 / (ticks / hz) }' "$work/packets.log" >>"$work/packets.testpmd.$driver"
	printf 'stop\nquit\n' >&7
	wait "$packets_pid" || :
	packets_pid=''
	exec 7>&-
}

part_packets() {
	local way driver ours theirs
	packages_install dpdk-dev
	hugepages_hold
	hugepages_before=$(</proc/sys/vm/nr_hugepages)
	[ "$hugepages_before" -ge 200 ] || echo 200 >/proc/sys/vm/nr_hugepages
	rounds_begin "$rounds"
	while round_next; do
		for way in af-packet af-xdp; do
			packets_ours $way
			packets_testpmd ${way/-/_}
		done
	done
	printf '\n%-10s %20s %20s %8s   (veth, frames of 60 bytes, there and back a second of processor time)\n' packets ours "testpmd's" ratio
	for way in af-packet af-xdp; do
		driver=${way/-/_}
		ours=$(median <"$work/packets.$way") theirs=$(median <"$work/packets.testpmd.$driver")
		awk -v way=$way -v ours="$ours" -v theirs="$theirs" -v ratios="$work/ratios" 'BEGIN {
			printf "%-10s %20.0f %20.0f %7.2fx\n", way, ours, theirs, ours / theirs
			print "packets " way " testpmd", ours / theirs >>ratios }'
	done
	awk -v a="$(median <"$work/packets.af-packet")" -v x="$(median <"$work/packets.af-xdp")" \
		'BEGIN { printf "%-10s %20s %20s %7.2fx\n", "af-xdp", "", "af-packet, ours", x / a }'
	echo "(medians of $round rounds of $ms ms)"
	packets_down
	dpdk_down
}
