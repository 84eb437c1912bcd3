/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the device of each leg is either named or selected. */
#include "netcfg/spec/check/spec_check_internal.h"

void spec_check_match(struct spec_reader *r, const struct spec_net *net)
{
	const struct spec_node *entry = spec_check_node(r, &net->pos, NULL, NO_INDEX);
	const bool named = spec_check_node(r, &net->pos, "device", NO_INDEX) != entry;
	const bool selected = spec_check_node(r, &net->pos, "match", NO_INDEX) != entry;

	if (selected && !r->spec->management_interface[0])
		check_error(r, &net->pos, "match",
			    "a selector must know the management interface, so that no leg takes "
			    "it; write for example 'management: {interface: eth0}'");
	if (selected && net->shared_ip)
		check_error(r, &net->pos, "match",
			    "a leg with shared-ip uses the host's own address, and a selector "
			    "takes no device that the host depends on; write 'device'");
	if (!named && !selected)
		check_error(r, &net->pos, NULL,
			    "the key 'device' is missing; write for example 'device: eth1', or "
			    "'match: {driver: mlx5_core}'");
	else if (named && selected)
		check_error(r, &net->pos, "match",
			    "the leg has 'device' too, and both say which device it uses; leave "
			    "one out");
	else if (selected && net->match.pos.line && !spec_match_is_set(&net->match) &&
		 !r->d->n_errors)
		check_error(r, &net->pos, "match",
			    "expected a key by which a device is selected; write for example "
			    "'match: {driver: mlx5_core}'");
	else if (net->match.n_subnets && spec_ha_bonds(r->spec->ha))
		check_error(r, &net->pos, "match",
			    "the ports of a bond have no addresses, so 'subnet' would select none; "
			    "write another key, such as 'driver' or 'pci'");
}
