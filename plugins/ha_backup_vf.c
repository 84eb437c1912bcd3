/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mode active-backup without a bond: each worker has one address and a VF of every device, and
 * moves the address between the VFs itself, without the kernel. This file checks the spec for this
 * mode, and makes legs that share their addresses.
 */
#include "plugins/plugins.h"
#include <stdio.h>

#define HOLD_S 10 /* seconds; documented as the default in plenum.yaml(5) */

bool ha_is_backup_of_vfs(const struct spec *s)
{
	for (size_t i = 0; i < s->n_nets; i++)
		if (s->nets[i].vfs > 0)
			return true;
	return false;
}

/* Refuses workers on kernel sockets: a socket uses one interface, and no program could move its
 * address to another interface in time. */
static void check_workers(const struct spec *s, struct diag *d)
{
	char path[48];

	for (size_t i = 0; i < s->n_workers; i++) {
		const struct spec_worker *w = &s->workers[i];

		if (w->transport == SPEC_TRANSPORT_DPDK ||
		    w->transport == SPEC_TRANSPORT_DPDK_INTERRUPT)
			continue;
		snprintf(path, sizeof(path), "workers[%zu].transport", i);
		diag_add(d, DIAG_ERROR, &w->pos, path,
			 "active-backup over VFs needs workers that use VFs, and %s uses none; "
			 "write dpdk or dpdk-interrupt, or 'vfs: 0' for a bond",
			 spec_transport_to_string(w->transport));
	}
}

void ha_backup_vf_check(const struct spec *s, struct diag *d)
{
	for (size_t i = 0; i < s->n_nets; i++)
		if (s->nets[i].vfs <= 0)
			ha_net_error(d, s, i, "vfs",
				     "with active-backup either all devices have VFs, or none has; "
				     "write the number of VFs, or 'vfs: 0' for the other devices");
	if (s->bond.name[0])
		diag_add(d, DIAG_ERROR, &s->bond.pos, "ha.bond",
			 "active-backup over VFs creates no bond, and the first usable device "
			 "carries data; remove ha.bond, or write 'vfs: 0' for all devices");
	check_workers(s, d);
}

int ha_backup_vf_legs(struct plan_builder *b)
{
	b->plan->hold_s = b->spec->ha_hold_s ? b->spec->ha_hold_s : HOLD_S;
	return planner_legs_add(b);
}
