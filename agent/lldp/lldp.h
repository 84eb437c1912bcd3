/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's side of LLDP: opens a packet socket for each cable that a leg depends on, passes it
 * to the role `lldp`, and keeps the table of the neighbours that the role reports. It sends no
 * frames. If a socket cannot be opened, the link's entry has the error, and the agent continues.
 */
#ifndef PLENUM_AGENT_LLDP_H
#define PLENUM_AGENT_LLDP_H

#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/base/privsep.h"
#include "agent/lldp/neighbours.h"
#include <sys/types.h>

struct lldp;
struct lldp_setup {
	struct loop *loop;
	struct events *events;
	enum log_level log_level;
	const char *path; /* file that keeps the table for the next agent; borrowed */
	/* Called when the table has changed, and from time to time while a cable is silent. */
	void (*on_change)(void *user);
	/* Called when the role has parsed a packet from a socket of lldp_watch. NULL: lldp_watch is
	 * not used. */
	void (*on_claim)(void *user, uint32_t ifindex, const struct address_claim *said);
	/* Called when the role's process has started. The new process has none of the sockets that
	 * lldp_watch() opened, so the callee passes them again. */
	void (*on_start)(void *user);
	void *user;
};

struct lldp_link {
	uint32_t ifindex;
	char ifname[IFNAMSIZ];
};

int lldp_new(const struct lldp_setup *setup, struct lldp **ret);
struct lldp *lldp_free(struct lldp *l); /* accepts NULL, returns NULL */
/* Listens on these links and no others, and retries links that failed before. Starts the role's
 * process when there is a first link. */
void lldp_listen(struct lldp *l, const struct lldp_link *links, size_t n);
/* Passes the socket fd, which stays the caller's, to the role's process, which reads `frames` from
 * it. The socket replaces an earlier one of the same link. Returns 0; -ENOTCONN if the process does
 * not run, in which case on_start will be called; or another negative errno. */
int lldp_watch(struct lldp *l, uint32_t ifindex, enum privsep_frames frames, int fd);
void lldp_unwatch(struct lldp *l, uint32_t ifindex, enum privsep_frames frames);
/* Call when the link has lost its carrier. Accepts NULL. */
void lldp_carrier_lost(struct lldp *l, uint32_t ifindex);
/* Returns the table of neighbours, which is empty if l is NULL. */
const struct neighbours *lldp_neighbours(const struct lldp *l);
pid_t lldp_pid(const struct lldp *l); /* process of the role `lldp`; 0: it does not run */

#endif
