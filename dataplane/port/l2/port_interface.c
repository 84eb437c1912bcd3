/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests information about an interface from the kernel, by a socket that the port has
 * already. */
#include "dataplane/port/l2/port_interface.h"
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

static int ask(int fd, const char *ifname, unsigned long what, struct ifreq *ret)
{
	*ret = (struct ifreq){.ifr_flags = 0};
	snprintf(ret->ifr_name, sizeof(ret->ifr_name), "%s", ifname);
	return ioctl(fd, what, ret) < 0 ? -errno : 0;
}

int port_interface_mac(int fd, const char *ifname, struct mac_addr *ret)
{
	struct ifreq ifr;
	int r = ask(fd, ifname, SIOCGIFHWADDR, &ifr);

	if (r < 0)
		return r;
	if (ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return -EPROTONOSUPPORT;
	memcpy(ret->bytes, ifr.ifr_hwaddr.sa_data, sizeof(ret->bytes));
	return 0;
}

int port_interface_has_link(int fd, const char *ifname)
{
	struct ifreq ifr;
	int r = ask(fd, ifname, SIOCGIFFLAGS, &ifr);

	return r < 0 ? r : (ifr.ifr_flags & IFF_RUNNING) != 0;
}
