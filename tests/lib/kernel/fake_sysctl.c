/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates kernel settings. Accepts only numbers. */
#include "tests/lib/kernel/fake_sysctl.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/host/link_setting.h"
#include <stdio.h>
#include <string.h>

int fake_sysctl_change(struct inventory *inv, const struct kernel_sysctl *s)
{
	for (size_t i = 0; i < inv->n_sysctls; i++) {
		char *copy, *end;

		if (strcmp(inv->sysctls[i].key, s->key) != 0)
			continue;
		(void)strtol(s->value, &end, 0);
		if (end == s->value || *end)
			return -EINVAL;
		copy = strdup(s->value);
		if (!copy)
			return -ENOMEM;
		free(inv->sysctls[i].value);
		inv->sysctls[i].value = copy;
		return 0;
	}
	return -ENOENT;
}

int fake_sysctl_read(const struct inventory *inv, struct kernel_sysctl *s)
{
	const char *value = inv_sysctl_value(inv, s->key);

	if (!value)
		return -ENOENT;
	if (strlen(value) >= sizeof(s->was))
		return -ENOSPC;
	strcpy(s->was, value);
	return 0;
}

void fake_settings_remove(struct inventory *inv, const char *ifname)
{
	char key[LINK_SETTING_KEY_MAX];
	size_t n = 0;

	for (size_t i = 0; i < inv->n_sysctls; i++) {
		bool its = false;

		for (enum link_setting s = 0; s < LINK_SETTING_MAX; s++)
			its |= strcmp(inv->sysctls[i].key, link_setting_key(s, ifname, key)) == 0;
		if (!its) {
			inv->sysctls[n++] = inv->sysctls[i];
			continue;
		}
		free(inv->sysctls[i].key);
		free(inv->sysctls[i].value);
	}
	inv->n_sysctls = n;
}
