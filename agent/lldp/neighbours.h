/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The systems at the other end of the host's cables, according to LLDP: a table by link, kept by
 * the monitor. An entry is valid for the time its sender announces (TTL), or until the carrier is
 * lost; nothing is guessed beyond that. Callers pass the time. lldp.c fills the table,
 * labels.c and the status read it.
 */
#ifndef PLENUM_AGENT_NEIGHBOURS_H
#define PLENUM_AGENT_NEIGHBOURS_H

#include "agent/lldp/lldp_parse.h"
#include <jansson.h>
#include <net/if.h>

#define NEIGHBOURS_MAX 8 /* per link; beyond this, those that expire last are kept */

struct neighbour {
	struct lldp_neighbour said;
	uint64_t heard_ns, until_ns; /* clock_now_ns */
	bool remembered;	     /* read from an earlier agent's table: any received frame
				      * replaces it */
};

struct neighbours_link {
	uint32_t ifindex;
	char ifname[IFNAMSIZ];
	struct neighbour all[NEIGHBOURS_MAX];
	size_t n;
	uint64_t since_ns; /* listening with a carrier, as far as is known */
	int error;	   /* why the agent does not listen; 0: it listens */
};

struct neighbours {
	struct neighbours_link *links;
	size_t n;
};

enum neighbours_verdict {
	NEIGHBOURS_NONE,
	NEIGHBOURS_ONE,	    /* one system, on one port or several */
	NEIGHBOURS_SEVERAL, /* several systems: a device in between forwards LLDP */
};

void neighbours_done(struct neighbours *t);
struct neighbours_link *neighbours_find(const struct neighbours *t, uint32_t ifindex);
/* Adds a link to listen on. The entry; NULL: out of memory. Valid until the next add or remove. */
struct neighbours_link *neighbours_add(struct neighbours *t, uint32_t ifindex, const char *ifname,
				       uint64_t now);
void neighbours_remove(struct neighbours *t, uint32_t ifindex);

/* Takes an announcement received on a link. Returns whether anything but its time is new. */
bool neighbours_hear(struct neighbours_link *l, const struct lldp_neighbour *said, uint64_t now);
/* Drops the entries of a link that lost its carrier. Returns whether there were any. */
bool neighbours_forget(struct neighbours_link *l, uint64_t now);
/* Drops expired entries. Returns whether there were any; *ret_next: time of the next expiry,
 * UINT64_MAX: none. */
bool neighbours_expire(struct neighbours *t, uint64_t now, uint64_t *ret_next);
/* Judges a link: for NEIGHBOURS_ONE the entry received last, else NULL. */
const struct neighbour *neighbours_judge(const struct neighbours_link *l,
					 enum neighbours_verdict *ret);

/* Adds the entries that an earlier agent's table has of this link and that are still valid. */
void neighbours_remember(struct neighbours_link *l, const struct neighbours *saved, uint64_t now);
/* Writes the table for the next agent. 0; negative errno. In neighbours_file.c, like the next one.
 */
int neighbours_save(const struct neighbours *t, const char *path);
/* Reads the table of an earlier agent into t, which is empty; its entries are marked as remembered.
 * 0; enum state_error; other negative errno. */
int neighbours_load(struct neighbours *t, const char *path);
/* One neighbour for the CLI and REST. A new reference, NULL: out of memory. */
json_t *neighbour_to_json(const struct neighbour *n, uint64_t now);

#endif
