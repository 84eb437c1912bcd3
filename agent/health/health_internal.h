/* SPDX-License-Identifier: BSD-3-Clause */
/* One check of all workers, shared by the files that each find one kind of problem. */
#ifndef PLENUM_AGENT_HEALTH_INTERNAL_H
#define PLENUM_AGENT_HEALTH_INTERNAL_H

#include "agent/health/health.h"

struct health_look { /* one check of all workers */
	struct health *h;
	const struct health_inputs *in;
	const struct sup_worker *w;
	uint64_t now;
	char *arp; /* NULL: the ARP table has not been read yet */
};

/* ---- health_look.c ---- */

/* Returns the ARP table, which is read only if a peer does not answer. */
const char *health_look_arp(struct health_look *l);
/* Returns whether the worker has a mount of that peer with this state: served or, with `served`
 * false, not served. */
bool health_has_mount(const struct sup_worker *w, const char *peer, bool served);
/* Returns whether a mount from that address is not served. Then the mount's problem has the reason
 * why the peer does not answer. */
bool health_is_of_mount(const struct sup_worker *w, const struct ip_addr *ip);

/* ---- health_list.c ---- */

/* Adds a problem of the current worker, or updates its text. hold_ns: delay of the report. Returns
 * NULL if memory is short; then the problem is not reported. */
struct health_entry *health_note(struct health_look *l, uint64_t hold_ns, enum health_kind kind,
				 const char *key, const char *text);
/* Writes the key of problems of the paths between that leg and peer to buf. */
void health_key_path(const char *leg, const char *peer, char *buf, size_t size);
/* Returns whether this check has already found that problem of the current worker. */
bool health_is_noted(const struct health_look *l, enum health_kind kind, const char *key);
/* Removes the problems that the current check did not find. */
void health_drop_unseen(struct health *h);

/* ---- the kinds of problems of the current worker, one file each ---- */

void health_look_at_mount(struct health_look *l, uint32_t i);
void health_look_at_paths(struct health_look *l);
/* Call both functions after the checks of mounts and paths, because they skip faults that a problem
 * of a mount or path already includes. */
void health_look_at_refusals(struct health_look *l);
void health_look_at_neighbours(struct health_look *l);
void health_look_at_loss(struct health_look *l);
void health_look_at_latency(struct health_look *l);
void health_look_at_labels(struct health_look *l);

#endif
