/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the revocations of hosts, gives them to workers that start, and sends new ones to workers
 * that run. */
#include "agent/supervise/supervise_internal.h"
#include <string.h>

/* Returns the index of the host in the list, or n. */
static uint32_t find(const struct launch_revoked *list, uint32_t n, const char *host)
{
	uint32_t i = 0;

	while (i < n && strcmp(list[i].host, host) != 0)
		i++;
	return i;
}

/* Adds a revocation to a list, or raises its epoch there. Returns whether that is a change. If the
 * list is full, does nothing. */
static bool add(struct launch_revoked *list, uint32_t *n, const char *host, uint64_t epoch)
{
	const uint32_t i = find(list, *n, host);

	if (i == LAUNCH_REVOKED_MAX || (i < *n && list[i].epoch >= epoch))
		return false;
	memset(&list[i], 0, sizeof(list[i]));
	snprintf(list[i].host, sizeof(list[i].host), "%s", host);
	list[i].epoch = epoch;
	*n += i == *n;
	return true;
}

void sup_revoked_merge(struct sup *s, struct launch_config *c)
{
	if (c->identity == LAUNCH_IDENTITY_OFF)
		return;
	if (memcmp(s->revoked_by, c->cluster_key, sizeof(s->revoked_by)) != 0) {
		/* The host has moved to another cluster, so the revocations of the former cluster
		 * no longer apply. */
		memcpy(s->revoked_by, c->cluster_key, sizeof(s->revoked_by));
		s->n_revoked = 0;
		memset(s->revoked, 0, sizeof(s->revoked));
	}
	for (uint32_t i = 0; i < c->n_revoked; i++)
		add(s->revoked, &s->n_revoked, c->revoked[i].host, c->revoked[i].epoch);
	memcpy(c->revoked, s->revoked, sizeof(c->revoked));
	c->n_revoked = s->n_revoked;
}

void sup_update_revoked(struct sup_worker *w)
{
	const struct launch_config *want = &w->config;
	struct launch_config *has = w->started;

	if (w->state != SUP_UP || !w->agreed || !has || want->identity == LAUNCH_IDENTITY_OFF)
		return;
	if (w->revoked_unsure)
		has->n_revoked = 0;
	w->revoked_unsure = false;
	for (uint32_t i = 0; i < want->n_revoked; i++) {
		const struct launch_revoked *r = &want->revoked[i];

		const uint32_t k = find(has->revoked, has->n_revoked, r->host);

		if (k < has->n_revoked && has->revoked[k].epoch >= r->epoch)
			continue;
		/* If the socket is full, the next check continues here. */
		if (sup_send_revoked(w, r) < 0)
			return;
		add(has->revoked, &has->n_revoked, r->host, r->epoch);
	}
}

void sup_revoke(struct sup *s, const char *host, uint64_t epoch)
{
	add(s->revoked, &s->n_revoked, host, epoch);
	for (struct sup_worker *w = s->workers; w; w = w->next) {
		if (w->config.identity == LAUNCH_IDENTITY_OFF)
			continue;
		add(w->config.revoked, &w->config.n_revoked, host, epoch);
		sup_update_revoked(w);
	}
}
