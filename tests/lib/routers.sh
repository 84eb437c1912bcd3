# SPDX-License-Identifier: BSD-3-Clause
# Sourced beside hosts.sh: host-a and host-b in different subnets, with a router on each leg between them, so that the
# legs are two fabrics.
#
#   routers_up                    starts the fabric, the hosts, and the routers router1 and router2
#   router_leg LEG MAC            gives the leg's router new cables to both sides; MAC: the last two bytes of its MAC addresses
#   router_silent LEG on|off      the router forwards no packets in either direction; all carriers stay
#   router_dead LEG on|off        in addition, the router does not answer ARP requests for its address
#   routers_config HOST < YAML    writes the host's example, with the addresses of these subnets

router_leg() {
	local leg=$1 side
	for side in near far; do
		hosts_fabric ip link del "router.$side$leg" 2>/dev/null || :
		hosts_fabric ip link add "router.$side$leg" type veth peer name "$side" netns "$(host_pid "router$leg")" address "02:00:00:0$leg:$2:$([ $side = near ] && echo 0a || echo 0b)" || return
		hosts_fabric ip link set "router.$side$leg" master "$([ $side = near ] && echo switch || echo far)$leg" up || return
		host_run "router$leg" ip addr add "10.${leg}0.$([ $side = near ] && echo 1 || echo 2).254/24" dev "$side" &&
			host_run "router$leg" ip link set "$side" up || return
	done
}

router_silent() {
	host_run "router$1" sh -c "echo $([ "$2" = on ] && echo 0 || echo 1) >/proc/sys/net/ipv4/ip_forward"
}

router_dead() {
	local side
	for side in near far; do
		host_run "router$1" ip link set $side "$([ "$2" = on ] && echo down || echo up)" || return
	done
}

routers_up() { # host-b's legs, and the far sides of the routers, are on separate switches
	local leg
	hosts_up host-a host-b router1 router2 || return
	for leg in 1 2; do
		hosts_fabric ip link add "far$leg" type bridge && hosts_fabric ip link set "far$leg" up &&
			hosts_fabric ip link set "host-b.$leg" master "far$leg" && router_leg $leg 01 && router_silent $leg off || return
	done
}

routers_config() { # host-b is in other subnets
	case $1 in
	host-a) sed 's|range: 10\.\([12]\)0\.1\.\(10.*\)/24, |range: 10.\10.1.\2/24, gateway: 10.\10.1.254, |; s/ips: .*/ips: [10.10.2.20, 10.20.2.20]}/' ;;
	host-b) sed 's|range: 10\.\([12]\)0\.1\.20-10\..*/24, |range: 10.\10.2.20-10.\10.2.29/24, gateway: 10.\10.2.254, |' ;;
	esac
}
