/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers questions about a configuration that several modules and the checks ask. */
#include "netcfg/base/host_name.h"
#include "netcfg/spec/spec_schema.h"
#include <string.h>

bool spec_has_key(const struct spec *s)
{
	return *s->cluster.name && s->cluster.security != SPEC_SECURITY_NONE;
}

bool spec_has_bond(const struct spec *s)
{
	for (size_t i = 0; i < s->n_nets; i++)
		if (s->nets[i].vfs > 0)
			return false;
	return spec_ha_bonds(s->ha);
}

size_t spec_host_ips(const struct spec *s, const char *host, struct ip_addr *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_peers; i++) {
		const struct spec_peer *p = &s->peers[i];

		for (size_t j = 0; host_name_matches(host, p->name) && j < p->n_ips; j++, n++)
			if (n < max)
				ret[n] = p->ips[j];
	}
	return n;
}

/* ---- keys of the schema ---- */

bool spec_key_is_built(const struct spec_key *k, const char *text)
{
	return !k->not_built || (k->is_built && (!text || k->is_built(text)));
}

const struct spec_key *spec_key_find(const struct spec_table *t, const char *name)
{
	for (size_t i = 0; i < t->n_keys; i++)
		if (strcmp(t->keys[i].name, name) == 0)
			return &t->keys[i];
	return NULL;
}

bool spec_type_is_list(enum spec_type t)
{
	return t == SPEC_TYPE_MAPS || t == SPEC_TYPE_IPS || t == SPEC_TYPE_RANGES ||
	       t == SPEC_TYPE_URLS || t == SPEC_TYPE_ACCOUNTS || t == SPEC_TYPE_NAMES ||
	       t == SPEC_TYPE_NETWORKS || t == SPEC_TYPE_CORES || t == SPEC_TYPE_PRIOS;
}
