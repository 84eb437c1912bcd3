/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults on purpose ('plenum fault'): which there are, who asked for them, and that workers which
 * start meanwhile have them too. The workers make them and end them at their time without being
 * told, so nothing here has to outlive the agent: the next one finds them on the workers' pages.
 */
#ifndef PLENUM_AGENT_FAULTS_H
#define PLENUM_AGENT_FAULTS_H

#include "agent/api/clients.h"
#include "dataplane/launch.h"
#include <jansson.h>

struct agent;
struct loop_source;

struct faults {
	struct faults_entry {
		struct launch_fault is;
		char by[CLIENTS_BY_MAX];
	} all[LAUNCH_FAULTS_MAX];
	size_t n;
	uint32_t last_id;
	struct loop_source *timer;
};

int faults_init(struct agent *a);
void faults_done(struct agent *a);
/* After the workers of an agent before were taken over: what they still do on purpose. */
void faults_adopt(struct agent *a);
/* Begins one with the id that it is given, and until `ttl_s` from now. 0 with the id; -ENOSPC:
 * there are LAUNCH_FAULTS_MAX. What it may be was checked by the caller. */
int faults_add(struct agent *a, const struct launch_fault *f, uint32_t ttl_s, const char *by,
	       uint32_t *ret_id);
/* Ends one, 0: all. How many. */
size_t faults_end(struct agent *a, uint32_t id, const char *why);
/* {"faults": [...]}, a new reference; NULL: out of memory. */
json_t *faults_to_json(const struct agent *a);

#endif
