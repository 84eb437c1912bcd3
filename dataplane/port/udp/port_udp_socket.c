/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and configures the sockets of port_udp. A comment gives the reason for each socket
 * option.
 */
#include "dataplane/port/udp/port_udp_socket.h"
#include "dataplane/port/l2/port_interface.h"
#include "dataplane/port/l2/port_l2.h"
#include "netcfg/base/os/packet_socket.h"
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define SOCKET_BUF_BYTES (8 << 20)
/* Minimum distance of a source port from the worker's own UDP port. Workers that share an address
 * have consecutive UDP ports, and a source port must not take the port of a worker that is
 * starting. */
#define SOURCE_APART 1024
#define SOURCE_TRIES 8U

static void socket_size_buffer(int fd, int force, int plain)
{
	int bytes = SOCKET_BUF_BYTES;

	/* The option `force` may exceed net.core.[rw]mem_max, but needs CAP_NET_ADMIN. */
	if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)) != 0)
		(void)setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof(bytes));
}

static int socket_set_options(int fd, const struct udp_local *l, struct udp_features *ret)
{
	int on = 1, probe4 = IP_PMTUDISC_PROBE, probe6 = IPV6_PMTUDISC_PROBE, busy_us = 20;
	int segment = 0;

	socket_size_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	socket_size_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	/* Never fragment, and ignore path MTUs from ICMP, because rudp discovers the path MTU
	 * itself. */
	if (l->addr.ip.family == AF_INET) {
		if (setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe4, sizeof(probe4)) != 0)
			return -errno;
	} else {
		if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0 ||
		    setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe6, sizeof(probe6)) != 0)
			return -errno;
	}
	/* Request the arrival time of each packet. Otherwise the time that a packet waits for this
	 * thread would count as network delay. */
	(void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	ret->gro = setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on)) == 0;
	/* Let the kernel report, with later packets, how many it dropped because the buffer was
	 * full. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
	/* Setting the option to 0 changes nothing, but shows whether the kernel supports
	 * segmentation. */
	ret->gso = setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)) == 0;
	if (l->spins) /* a polling worker then also polls the NIC's queue; without privilege the
			 kernel refuses the option */
		(void)setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &busy_us, sizeof(busy_us));
	return 0;
}

int udp_sockaddr_make(const struct udp_local *l, const struct datagram_addr *a,
		      struct sockaddr_storage *ret)
{
	int len = ip_addr_to_sockaddr(&a->ip, a->port, ret);

	if (len > 0 && a->ip.family == AF_INET6 && a->ip.bytes[0] == 0xfe &&
	    (a->ip.bytes[1] & 0xc0) == 0x80)
		((struct sockaddr_in6 *)ret)->sin6_scope_id = l->ifindex;
	return len;
}

static int socket_new(const struct udp_local *l, struct udp_features *ret)
{
	autoclose int fd = -1;
	int r;

	fd = socket(l->addr.ip.family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
	if (fd < 0)
		return -errno;
	r = socket_set_options(fd, l, ret);
	return r < 0 ? r : fd_take(fd);
}

static void bind_explain(const struct udp_local *l, int error, struct reason *why)
{
	char ip[IP_ADDR_STR_MAX];

	ip_addr_format(&l->addr.ip, ip, sizeof(ip));
	if (error == -EADDRINUSE)
		reason_set_text(
			why,
			"UDP port %u of %s is in use; free the port, or configure another port",
			l->addr.port, ip);
	else if (error == -EADDRNOTAVAIL)
		reason_set_text(why, "%s is not an address of this host", ip);
	else
		reason_set_text(why, "cannot bind UDP port %u of %s: %s", l->addr.port, ip,
				strerror(-error));
}

/* The sockets of a killed worker exist for a moment longer, until its sibling processes have ended.
 * A UDP port that is still in use after all these attempts belongs to another process. */
#define BIND_TRIES 50
#define BIND_PAUSE_NS (10 * NSEC_PER_MSEC)

static int bind_try(int fd, const struct sockaddr_storage *name, int len)
{
	const struct timespec pause = {.tv_nsec = BIND_PAUSE_NS};

	for (unsigned i = 0; bind(fd, (const struct sockaddr *)name, (socklen_t)len) != 0; i++) {
		if (errno != EADDRINUSE || i == BIND_TRIES)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/*
 * The socket is bound to the address, not to the device: the leg's source rule and route choose the
 * device, and workers of one host communicate over loopback. udp_socket_open_peer() later binds the
 * same UDP port again. The kernel allows that only after this exclusive bind, and only to processes
 * of the same user.
 */
int udp_socket_open(const struct udp_local *l, struct udp_features *ret, struct reason *why)
{
	struct sockaddr_storage name;
	int len = udp_sockaddr_make(l, &l->addr, &name), on = 1, r;
	struct udp_features features;
	autoclose int fd = -1;

	if (len < 0) {
		reason_set_text(why, "the leg has no address");
		return len;
	}
	fd = socket_new(l, &features);
	if (fd < 0) {
		reason_set_text(why, "cannot make a UDP socket: %s", strerror(-fd));
		return fd;
	}
	r = bind_try(fd, &name, len);
	if (r < 0) {
		bind_explain(l, r, why);
		return r;
	}
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0)
		return -errno;
	*ret = features;
	return fd_take(fd);
}

int udp_socket_open_peer(const struct udp_local *l, int common_fd, const struct datagram_addr *peer)
{
	struct sockaddr_storage name, peer_name;
	int len = udp_sockaddr_make(l, &l->addr, &name), on = 1;
	int peer_len = udp_sockaddr_make(l, peer, &peer_name), user;
	struct stat st;
	struct udp_features features;
	autoclose int fd = -1;

	if (len < 0 || peer_len < 0)
		return -EAFNOSUPPORT;
	/* The thread of a server may have the user id of a client at this moment, but the kernel
	 * lets only the user that owns the first socket bind the same port again. */
	if (fstat(common_fd, &st) != 0)
		return -errno;
	user = setfsuid(st.st_uid);
	fd = socket_new(l, &features);
	setfsuid((uid_t)user);
	if (fd < 0)
		return fd;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0 ||
	    bind(fd, (struct sockaddr *)&name, (socklen_t)len) != 0 ||
	    connect(fd, (struct sockaddr *)&peer_name, (socklen_t)peer_len) != 0)
		return -errno;
	return fd_take(fd);
}

static int source_bind(const struct udp_local *l, uint16_t *ret_port)
{
	struct datagram_addr any = {.ip = l->addr.ip};
	struct sockaddr_storage name;
	int len = udp_sockaddr_make(l, &any, &name), least = 0, r;
	struct udp_features features;
	struct ip_addr ip;
	socklen_t size = sizeof(name);
	autoclose int fd = -1;

	if (len < 0)
		return len;
	fd = socket_new(l, &features);
	if (fd < 0)
		return fd;
	if (bind(fd, (struct sockaddr *)&name, (socklen_t)len) != 0 ||
	    getsockname(fd, (struct sockaddr *)&name, &size) != 0)
		return -errno;
	r = ip_addr_from_sockaddr((struct sockaddr *)&name, &ip, ret_port);
	/* Use the kernel's minimum. One or two packets from unknown senders may wait in the buffer;
	 * the kernel drops all others. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	return r < 0 ? r : fd_take(fd);
}

int udp_socket_open_source(const struct udp_local *l, uint16_t *ret_port)
{
	int fds[SOURCE_TRIES], r = -EADDRINUSE;
	unsigned n = 0;

	while (n < SOURCE_TRIES) { /* keep unsuitable ports bound until the end, so that the kernel
				      chooses others */
		r = fds[n] = source_bind(l, ret_port);
		if (r < 0)
			break;
		n++;
		if (abs((int)*ret_port - (int)l->addr.port) >= SOURCE_APART)
			break;
		r = -EADDRINUSE;
	}
	for (unsigned i = 0; i < n; i++)
		if (fds[i] != r)
			close(fds[i]);
	return r;
}

static int link_mac_get(int fd, uint32_t ifindex, struct mac_addr *ret)
{
	struct ifreq ifr = {0};

	/* Do not use if_indextoname(3): it creates a socket of a type that workers must not
	 * create. */
	ifr.ifr_ifindex = (int)ifindex;
	return ioctl(fd, SIOCGIFNAME, &ifr) < 0 ? -errno
						: port_interface_mac(fd, ifr.ifr_name, ret);
}

int udp_announce_open(void)
{
	/* The socket is never bound, and its filter, which cannot be removed, drops everything. So
	 * no packet is ever queued on this socket, even if a compromised worker binds the
	 * socket. */
	static int first = -1; /* kept for ports that are added later, when the worker may not
				  create such sockets any more */
	autoclose int fd = packet_socket_new(SOCK_RAW);
	const struct sock_filter nothing = {.code = BPF_RET | BPF_K, .k = 0};
	int r;

	if (fd < 0)
		return first >= 0 ? fcntl(first, F_DUPFD_CLOEXEC, 0) : fd;
	r = packet_socket_filter(fd, &nothing, 1);
	if (r == 0)
		r = packet_socket_filter_keep(fd);
	if (r < 0)
		return r;
	if (first < 0)
		first = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd_take(fd);
}

int udp_announce(int fd, const struct udp_local *l)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)l->ifindex};
	uint8_t frame[PORT_L2_CONTROL_MAX];
	struct mac_addr mac;
	size_t len;
	int r;

	if (fd < 0)
		return -EPERM;
	r = link_mac_get(fd, l->ifindex, &mac);
	if (r < 0)
		return r;
	len = port_l2_build_announce(frame, &mac, &l->addr.ip);
	if (sendto(fd, frame, len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	return 0;
}
