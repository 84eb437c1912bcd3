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
 * Sends the worker the cluster keys of w->config, if it lacks them; if the socket is full, the next
 * heartbeat check retries. For an adopted worker, w->config is at first the configuration of an
 * earlier agent, whose keys may be outdated, so nothing is sent until sup_reconcile has replaced
 * it. If the worker dies before that, it is restarted with those earlier keys.
 */
void sup_update_keys(struct sup_worker *w)
{
	if (w->state != SUP_UP || !w->agreed || !sup_lacks_keys(w, &w->config) ||
	    sup_send_keys(w) < 0)
		return;
	if (!w->keys_unsure)
		sup_report(w, LOG_LEVEL_INFO, "received the new cluster keys");
	w->keys_unsure = false;
	w->started->n_secrets = w->config.n_secrets;
	memcpy(w->started->secrets, w->config.secrets, sizeof(w->started->secrets));
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
