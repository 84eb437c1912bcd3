/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of objects, in a separate file so that a test can link another table. */
#include "netcfg/object/object.h"

const struct object_kind *const object_kinds[] = {
	&object_pci,	    &object_vf,	  &object_vlan,	  &object_bond,	   &object_sysctl,
	&object_link,	    &object_addr, &object_route,  &object_rule,	   &object_master,
	&object_bond_value, &object_rxe,  &object_device, &object_devlink,
};
const size_t object_kinds_n = ARRAY_SIZE(object_kinds);
