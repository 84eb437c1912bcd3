/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's side of LLDP: opens a packet socket for each cable that a leg depends on, passes it
 * to the role `lldp`, and keeps the table of the neighbours that the role reports. Sends no frame.
 * A link without a working socket is an entry with an error, never a failure of the agent.
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
	/* The table has changed; also called now and then while a cable is silent. */
	void (*on_change)(void *user);
	/* A packet of a socket given to lldp_watch; NULL: there are none. */
	void (*on_claim)(void *user, uint32_t ifindex, const struct address_claim *said);
	/* The process has started without the sockets of lldp_watch: give them again. */
	void (*on_start)(void *user);
	void *user;
};

struct lldp_link {
	uint32_t ifindex;
	char ifname[IFNAMSIZ];
};

int lldp_new(const struct lldp_setup *setup, struct lldp **ret);
struct lldp *lldp_free(struct lldp *l); /* accepts NULL, returns NULL */
/* Listens on these links and no others; retries those that failed. Starts the process with the
 * first link. */
void lldp_listen(struct lldp *l, const struct lldp_link *links, size_t n);
/* Has the process read those frames from fd, which stays the caller's, in place of an earlier
 * socket. 0; -ENOTCONN: the process is not up, and on_start will be called; negative errno. */
int lldp_watch(struct lldp *l, uint32_t ifindex, enum privsep_frames frames, int fd);
void lldp_unwatch(struct lldp *l, uint32_t ifindex, enum privsep_frames frames);
/* The link has lost its carrier. Accepts NULL. */
void lldp_carrier_lost(struct lldp *l, uint32_t ifindex);
/* The table; empty for NULL. */
const struct neighbours *lldp_neighbours(const struct lldp *l);
pid_t lldp_pid(const struct lldp *l); /* 0: none */

#endif
