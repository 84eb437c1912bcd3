/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the checks of several modes use: they report an error at a device's position in
 * the spec, and refuse keys that a mode does not use. */
#include "plugins/plugins.h"
#include <stdarg.h>
#include <stdio.h>

void ha_net_error(struct diag *d, const struct spec *s, size_t i, const char *key, const char *fmt,
		  ...)
{
	char path[PLENUM_NAME_MAX + 32], text[256];
	va_list ap;

	snprintf(path, sizeof(path), "net[%s].%s", s->nets[i].name, key);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	diag_add(d, DIAG_ERROR, &s->nets[i].pos, path, "%s", text);
}

void ha_refuse_hold(const struct spec *s, struct diag *d)
{
	if (s->ha_hold_s)
		diag_add(d, DIAG_ERROR, &s->ha_pos, "ha.hold",
			 "'hold' needs active-backup over VFs; remove 'hold', or write mode: "
			 "active-backup and 'vfs' of each device");
}

void ha_refuse_bond(const struct spec *s, struct diag *d)
{
	char modes[SPEC_HA_NAMES_MAX];

	if (s->bond.name[0])
		diag_add(d, DIAG_ERROR, &s->bond.pos, "ha.bond",
			 "mode %s creates no bond; remove ha.bond, or write mode: %s",
			 spec_ha_to_string(s->ha), spec_ha_bond_names(modes));
	ha_refuse_hold(s, d);
	if (s->n_ha_allow)
		diag_add(d, DIAG_ERROR, &s->ha_pos, "ha.allow",
			 "it has no effect with mode %s; remove the key", spec_ha_to_string(s->ha));
}
