/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends messages that keep running workers up to date: cluster keys, carriers, labels and injected
 * faults. */
#include "agent/supervise/faults.h"
#include "agent/supervise/supervise_internal.h"
#include <string.h>

/* ---- keys ---- */

bool sup_lacks_keys(const struct sup_worker *w, const struct launch_config *want)
{
	const struct launch_config *has = w->started;

	return has && has->security != LAUNCH_SECURITY_NONE && want->n_secrets > 0 &&
	       (w->keys_unsure || has->n_secrets != want->n_secrets ||
		memcmp(has->secrets, want->secrets, sizeof(has->secrets)) != 0);
}

/*
 * Sends the worker the cluster keys and revocations of w->config that it lacks; if the socket is
 * full, the next heartbeat check retries. For an adopted worker, w->config is at first the
 * configuration of an earlier agent, whose keys may be outdated, so nothing is sent until
 * sup_reconcile has replaced it. If the worker dies before that, it is restarted with those earlier
 * keys.
 */
void sup_update_keys(struct sup_worker *w)
{
	sup_update_revoked(w);
	if (w->state != SUP_UP || !w->agreed || !sup_lacks_keys(w, &w->config) ||
	    sup_send_keys(w) < 0)
		return;
	if (!w->keys_unsure)
		sup_report(w, LOG_LEVEL_INFO, "received the new cluster keys");
	w->keys_unsure = false;
	w->started->n_secrets = w->config.n_secrets;
	memcpy(w->started->secrets, w->config.secrets, sizeof(w->started->secrets));
}

/* ---- limits of mounts ---- */

static struct launch_mount *find_mount(struct launch_config *c, const struct launch_mount *m)
{
	for (uint32_t i = 0; i < c->n_mounts; i++)
		if (launch_mount_equal(&c->mounts[i], m))
			return &c->mounts[i];
	return NULL;
}

static bool limits_equal(const struct launch_limits *a, const struct launch_limits *b)
{
	return a->bytes_per_s == b->bytes_per_s && a->operations_per_s == b->operations_per_s;
}

void sup_limits_copy(struct launch_config *to, const struct launch_config *from)
{
	for (uint32_t i = 0; i < to->n_mounts && i < from->n_mounts; i++)
		if (launch_mount_equal(&to->mounts[i], &from->mounts[i]))
			to->mounts[i].limits = from->mounts[i].limits;
}

bool sup_limits_differ(const struct sup_worker *w, const struct launch_mount *want)
{
	const struct launch_mount *has = w->started ? find_mount(w->started, want) : NULL;

	return has && (w->limits_unsure || !limits_equal(&has->limits, &want->limits));
}

/* As with the keys, w->config is not used before sup_reconcile has set it. */
void sup_update_limits(struct sup_worker *w)
{
	bool all = true;

	if (w->state != SUP_UP || !w->agreed || !w->started)
		return;
	for (uint32_t i = 0; i < w->config.n_mounts; i++) {
		const struct launch_mount *want = &w->config.mounts[i];
		struct launch_mount *has;

		if (!sup_limits_differ(w, want))
			continue;
		has = find_mount(w->started, want);
		if (sup_send_limits(w, (uint32_t)(has - w->started->mounts), &want->limits) < 0)
			all = false;
		else
			has->limits = want->limits;
	}
	if (all)
		w->limits_unsure = false;
}

/* ---- links and labels ---- */

/* A new worker assumes that its links are up, so only the links that are down are reported. An
 * adopted worker may have missed any change. */
void sup_update_links(struct sup_worker *w)
{
	for (uint32_t i = 0; i < w->started->n_ports; i++) {
		bool usable = carriers_usable(w->sup->setup.carriers, w->started->ports[i].ifindex);

		if (!usable || w->adopted)
			sup_send(w, LAUNCH_MSG_LINK, usable, i);
	}
}

/* Sends the legs' labels that have changed or, if `all` is set, all labels. An adopted worker gets
 * all, because it may have missed changes. */
void sup_update_labels(struct sup_worker *w, bool all)
{
	for (uint32_t i = 0; w->started && i < w->started->n_ports; i++) {
		struct launch_port *port = &w->started->ports[i];
		const struct label *label = labels_find(w->sup->setup.labels, port->leg);

		if (!label || (!all && strcmp(label->text, port->label) == 0) ||
		    sup_send_text(w, LAUNCH_MSG_LABEL, i, label->text) < 0)
			continue;
		memcpy(port->label, label->text, sizeof(port->label));
	}
}

void sup_labels_changed(struct sup *s)
{
	for (struct sup_worker *w = s->workers; w; w = w->next)
		sup_update_labels(w, false);
}

/* Sends all injected faults to a worker that has come up: a new process has none, and an adopted
 * one may have missed some. */
void sup_update_faults(struct sup_worker *w)
{
	const struct faults *fs = w->sup->setup.faults;

	for (size_t i = 0; fs && i < fs->n; i++)
		sup_send_fault(w, &fs->all[i].is);
}

void sup_fault_changed(struct sup *s, const struct launch_fault *f)
{
	for (struct sup_worker *w = s->workers; w; w = w->next)
		sup_send_fault(w, f);
}

unsigned sup_link_changed(struct sup *s, uint32_t ifindex, bool up)
{
	unsigned n = 0;

	/* The message has the number that the port has in the process. The successor of the process
	 * may number its ports in another order. */
	for (struct sup_worker *w = s->workers; w; w = w->next)
		for (uint32_t i = 0; w->started && i < w->started->n_ports; i++)
			if (w->started->ports[i].ifindex == ifindex &&
			    sup_send(w, LAUNCH_MSG_LINK, up, i) >= 0)
				n++;
	return n;
}
