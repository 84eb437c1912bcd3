/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions about a configuration that several modules and the checks ask. */
#include "netcfg/base/host_name.h"
#include "netcfg/spec/spec.h"

bool spec_has_key(const struct spec *s)
{
	return *s->cluster.name && s->cluster.security != SPEC_SECURITY_NONE;
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
