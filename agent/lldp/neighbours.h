/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is at the other end of the host's cables, as far as LLDP has told: a table by link, kept by
 * the monitor. What is said holds as long as its sender says (TTL), or until the carrier is lost;
 * nothing is guessed beyond that. Pure: time is passed in. lldp.c fills it, labels.c and the status
 * read it.
 */
#ifndef PLENUM_AGENT_NEIGHBOURS_H
#define PLENUM_AGENT_NEIGHBOURS_H

#include "agent/lldp/lldp_parse.h"
#include <jansson.h>
#include <net/if.h>

#define NEIGHBOURS_MAX 8 /* of a link; of more, those that expire last are kept */

struct neighbour {
	struct lldp_neighbour said;
	uint64_t heard_ns, until_ns; /* clock_now_ns */
	bool remembered;	     /* by an earlier agent: gives way to whatever is heard */
};

struct neighbours_link {
	uint32_t ifindex;
	char ifname[IFNAMSIZ];
	struct neighbour all[NEIGHBOURS_MAX];
	size_t n;
	uint64_t since_ns; /* listening, with a carrier, as far as is known */
	int error;	   /* why it is not listened to; 0: it is */
};

struct neighbours {
	struct neighbours_link *links;
	size_t n;
};

enum neighbours_verdict {
	NEIGHBOURS_NONE,
	NEIGHBOURS_ONE,	    /* one system, by one port or several */
	NEIGHBOURS_SEVERAL, /* systems: something between passes LLDP on */
};

void neighbours_done(struct neighbours *t);
struct neighbours_link *neighbours_find(const struct neighbours *t, uint32_t ifindex);
/* Listens from now on. The entry; NULL: out of memory. Good until the next add or remove. */
struct neighbours_link *neighbours_add(struct neighbours *t, uint32_t ifindex, const char *ifname,
				       uint64_t now);
void neighbours_remove(struct neighbours *t, uint32_t ifindex);

/* Takes what was said on a link. Whether anything but its time is new. */
bool neighbours_hear(struct neighbours_link *l, const struct lldp_neighbour *said, uint64_t now);
/* The carrier was lost: whoever is there next has yet to say so. Whether anybody was known. */
bool neighbours_forget(struct neighbours_link *l, uint64_t now);
/* Forgets what is over. Whether there was any; *ret_next: when the next is, UINT64_MAX: never. */
bool neighbours_expire(struct neighbours *t, uint64_t now, uint64_t *ret_next);
/* Who is there: of NEIGHBOURS_ONE what was heard last, else NULL. */
const struct neighbour *neighbours_judge(const struct neighbours_link *l,
					 enum neighbours_verdict *ret);

/* The table for the next agent, and what of it still holds, link by link (that is: of those which
 * are in the table already). A new reference, NULL: out of memory. */
json_t *neighbours_to_json(const struct neighbours *t);
void neighbours_remember(struct neighbours_link *l, const json_t *table, uint64_t now);
/* One neighbour for people and REST. A new reference, NULL: out of memory. */
json_t *neighbour_to_json(const struct neighbour *n, uint64_t now);

#endif
