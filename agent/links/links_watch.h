/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's side of the probes of legs: opens a UDP socket for each leg, bound to the leg's
 * address and device, runs the process of the role `links`, which probes through these sockets, and
 * keeps its reports. The process runs only while a leg is probed.
 */
#ifndef PLENUM_AGENT_LINKS_WATCH_H
#define PLENUM_AGENT_LINKS_WATCH_H

#include "agent/base/events.h"
#include "agent/base/links_report.h"
#include "agent/base/loop.h"
#include "agent/links/links_judge.h"
#include "agent/links/links_wire.h"
#include <net/if.h>
#include <sys/types.h>

struct links_watch_leg { /* the caller sets the first members */
	char name[PLENUM_NAME_MAX], network[PLENUM_NAME_MAX], ifname[IFNAMSIZ];
	uint32_t ifindex, mtu;
	struct ip_prefix ip;
	int blocked; /* negative errno with the reason not to open a socket; 0: open a socket */
	/* The members below are set by this module. */
	int error;		      /* negative errno of opening the socket; 0: it is open */
	struct links_report report;   /* ifindex 0: there is none yet */
	struct links_opinion opinion; /* links_watch_judge() sets this */
};

struct links_watch_self { /* "": this host is in no cluster */
	char cluster[PLENUM_NAME_MAX], host[PLENUM_NAME_MAX];
};

struct links_watch;
struct links_watch_setup {
	struct loop *loop;
	struct events *events;
	enum log_level log_level;
	/* Called when a report has arrived. */
	void (*on_report)(void *user, const struct links_watch_leg *leg);
	void *user;
};

int links_watch_new(const struct links_watch_setup *setup, struct links_watch **ret);
struct links_watch *links_watch_free(struct links_watch *w); /* accepts NULL; always returns NULL */
/* Replaces the legs and the keys. Legs that have not changed keep their sockets and reports; a
 * socket that could not be opened is tried again. If the cluster, the name of this host or the key
 * has changed, discards all reports. */
void links_watch_set(struct links_watch *w, const struct links_watch_self *self,
		     const struct links_watch_leg *legs, size_t n, const struct links_keys *keys);
/* Passes the legs of other hosts to the process: a sealed memfd of `len` bytes, which stays the
 * caller's. */
void links_watch_members(struct links_watch *w, int fd, uint64_t len);
const struct links_watch_leg *links_watch_legs(const struct links_watch *w, size_t *ret_n);
/* Makes the verdicts about all legs from the reports, the paths and the carriers. carrier(user,
 * leg) returns whether the leg has a carrier. */
void links_watch_judge(struct links_watch *w, const struct links_path *paths, size_t n_paths,
		       bool (*carrier)(const void *user, const struct links_watch_leg *leg),
		       const void *user);
/* Returns whether a probe was answered on any leg since the start, or since the cluster or its key
 * has changed. The value is that of the last call of links_watch_judge(). */
bool links_watch_answered(const struct links_watch *w);
/* Returns whether the last call of links_watch_judge() found that no host answers this leg. w may
 * be NULL. */
bool links_watch_is_dead(const struct links_watch *w, const char *leg);
pid_t links_watch_pid(const struct links_watch *w); /* 0: the process does not run */

#endif
