/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the address of the API. It must be one address of the management network and never a data
 * IP, which hosts of the data network could reach. */
#include "netcfg/spec/check/spec_check_internal.h"

#include <string.h>

static bool is_one_address(const struct ip_addr *a)
{
	static const uint8_t zeros[sizeof(a->bytes)];

	if (memcmp(a->bytes, zeros, sizeof(zeros)) == 0)
		return false;
	return a->family == AF_INET ? a->bytes[0] < 224 : a->bytes[0] != 0xff;
}

/* Returns whether the address belongs to the leg. An address with shared-ip does not count, because
 * management uses it too. */
static bool is_of_leg(const struct spec *s, const struct spec_net *net, const struct ip_addr *a)
{
	if (net->shared_ip)
		return false;
	for (size_t i = 0; i < net->n_ips; i++)
		if (ip_range_contains(&net->ips[i], a))
			return true;
	for (size_t i = 0; i < s->n_networks; i++)
		if (strcmp(s->networks[i].name, net->network) == 0 &&
		    ip_range_contains(&s->networks[i].range, a))
			return true;
	return false;
}

void spec_check_api(struct spec_reader *r)
{
	const struct spec *s = r->spec;
	const struct spec_api *api = &s->api;
	char buf[IP_ADDR_STR_MAX];

	if (api->listen.family == 0)
		return;
	ip_addr_format(&api->listen, buf, sizeof(buf));
	if (!is_one_address(&api->listen))
		check_error(r, &api->pos, "listen",
			    "%s is not the address of one interface; write this host's address in "
			    "the management network",
			    buf);
	else if (ip_addr_is_link_local(&api->listen))
		check_error(r, &api->pos, "listen",
			    "%s is a link-local address, which other networks do not reach; write "
			    "this host's address in the management network",
			    buf);
	for (size_t i = 0; i < s->n_nets; i++)
		if (is_of_leg(s, &s->nets[i], &api->listen)) {
			check_error(r, &api->pos, "listen",
				    "%s is an address of leg '%s', which the data network reaches; "
				    "write this host's address in the management network",
				    buf, s->nets[i].name);
			break;
		}
}
