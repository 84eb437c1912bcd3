/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens packet sockets so that they receive only frames that pass the filter: sets the filter first
 * and binds last.
 */
#include "netcfg/base/os/packet_socket.h"
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>

static int option_set(int fd, int level, int option, const void *value, size_t size)
{
	return setsockopt(fd, level, option, value, (socklen_t)size) < 0 ? -errno : 0;
}

int packet_socket_new(int type)
{
	int fd = socket(AF_PACKET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

int packet_socket_filter(int fd, const struct sock_filter *code, size_t n)
{
	/* The kernel copies the program. */
	const struct sock_fprog program = {.len = (unsigned short)n,
					   .filter = (struct sock_filter *)code};

	return option_set(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

int packet_socket_filter_keep(int fd)
{
	const int on = 1;

	return option_set(fd, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof(on));
}

int packet_socket_group(int fd, uint32_t ifindex, const struct mac_addr *group)
{
	struct packet_mreq m = {.mr_ifindex = (int)ifindex,
				.mr_type = PACKET_MR_MULTICAST,
				.mr_alen = sizeof(group->bytes)};

	memcpy(m.mr_address, group->bytes, sizeof(group->bytes));
	return option_set(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &m, sizeof(m));
}

int packet_socket_ignore_own(int fd)
{
	const int on = 1;

	return option_set(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
}

int packet_socket_bind(int fd, uint32_t ifindex, uint16_t protocol)
{
	const struct sockaddr_ll sll = {.sll_family = AF_PACKET,
					.sll_protocol = htons(protocol),
					.sll_ifindex = (int)ifindex};

	return bind(fd, (const struct sockaddr *)&sll, sizeof(sll)) < 0 ? -errno : 0;
}
