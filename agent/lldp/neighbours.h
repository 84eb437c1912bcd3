/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The systems at the other end of the host's cables, according to LLDP: a table by link, kept by
 * the monitor. An entry is valid until the time that its sender announces (TTL) has passed or the
 * link's carrier is lost. Callers pass in the time. lldp.c fills the table; labels.c and the status
 * read it.
 */
#ifndef PLENUM_AGENT_NEIGHBOURS_H
#define PLENUM_AGENT_NEIGHBOURS_H

#include "agent/lldp/lldp_parse.h"
#include <jansson.h>
#include <net/if.h>

/* Maximum number of neighbours per link. If a further neighbour is heard, it replaces the one that
 * would expire first. */
#define NEIGHBOURS_MAX 8

struct neighbour {
	struct lldp_neighbour said;
	uint64_t heard_ns, until_ns; /* times of clock_now_ns */
	/* Read from an earlier agent's table: the next received frame replaces it. */
	bool remembered;
};

struct neighbours_link {
	uint32_t ifindex;
	char ifname[IFNAMSIZ];
	struct neighbour all[NEIGHBOURS_MAX];
	size_t n;
	/* Time since which the agent has listened on this link while the link, as far as the agent
	 * knows, had a carrier. */
	uint64_t since_ns;
	int error; /* why the agent does not listen; 0: it listens */
};

struct neighbours {
	struct neighbours_link *links;
	size_t n;
};

enum neighbours_verdict {
	NEIGHBOURS_NONE,
	NEIGHBOURS_ONE,	    /* one system, with one port or several ports */
	NEIGHBOURS_SEVERAL, /* several systems: a device in between forwards LLDP frames */
};

void neighbours_done(struct neighbours *t);
struct neighbours_link *neighbours_find(const struct neighbours *t, uint32_t ifindex);
/* Adds a link to listen on. Returns the entry, which is valid until the next add or remove, or NULL
 * if memory is short. */
struct neighbours_link *neighbours_add(struct neighbours *t, uint32_t ifindex, const char *ifname,
				       uint64_t now);
void neighbours_remove(struct neighbours *t, uint32_t ifindex);

/* Stores an announcement that was received on a link. An announcement with ttl_s 0 removes the
 * entry. Returns whether the table has changed; a new expiry time of an entry is not a change. */
bool neighbours_hear(struct neighbours_link *l, const struct lldp_neighbour *said, uint64_t now);
/* Drops the entries of a link that lost its carrier. Returns whether it had entries. */
bool neighbours_forget(struct neighbours_link *l, uint64_t now);
/* Drops expired entries. Returns whether it dropped any. *ret_next: time of the next expiry, or
 * UINT64_MAX if no entry is left. */
bool neighbours_expire(struct neighbours *t, uint64_t now, uint64_t *ret_next);
/* Counts the systems on a link. For NEIGHBOURS_ONE, returns the entry that was received last;
 * otherwise NULL. */
const struct neighbour *neighbours_judge(const struct neighbours_link *l,
					 enum neighbours_verdict *ret);

/* Adds the entries for this link from an earlier agent's table, `saved`, that are still valid. */
void neighbours_remember(struct neighbours_link *l, const struct neighbours *saved, uint64_t now);
/* Writes the table to a file for the next agent. Returns 0 or negative errno. This and the next
 * function are in neighbours_file.c. */
int neighbours_save(const struct neighbours *t, const char *path);
/* Reads the table of an earlier agent into t, which is empty. Its entries are marked as remembered.
 * Returns 0, enum state_error, or another negative errno. */
int neighbours_load(struct neighbours *t, const char *path);
/* Returns a neighbour as JSON, for REST and the command line: a new reference, or NULL if memory is
 * short. */
json_t *neighbour_to_json(const struct neighbour *n, uint64_t now);

#endif
