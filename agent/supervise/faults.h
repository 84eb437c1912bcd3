/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Injected faults ('plenum fault'): the list, who requested them, and their transfer to workers
 * that start later. The workers inject them and end them at their time without a message, so this
 * list need not outlive the agent: the next one reads the faults from the workers' pages.
 */
#ifndef PLENUM_AGENT_FAULTS_H
#define PLENUM_AGENT_FAULTS_H

#include "dataplane/launch.h"
#include <jansson.h>

#define FAULTS_BY_MAX 96 /* bytes of the requester's description */

struct events;
struct loop;
struct loop_source;
struct sup;

struct faults_setup {
	struct loop *loop;
	struct events *events;
	struct sup *sup; /* the workers */
};

struct faults { /* zeroed until faults_init */
	struct faults_setup setup;
	struct faults_entry {
		struct launch_fault is;
		char by[FAULTS_BY_MAX];
	} all[LAUNCH_FAULTS_MAX];
	size_t n;
	uint32_t last_id;
	struct loop_source *timer;
};

/* 0 or negative errno. */
int faults_init(struct faults *fs, const struct faults_setup *setup);
void faults_done(struct faults *fs);
/* Call after adopting workers: reads the faults that they still inject. */
void faults_adopt(struct faults *fs);
/* Begins a fault for `ttl_s` seconds and assigns its id. 0 with the id; -ENOSPC: LAUNCH_FAULTS_MAX
 * faults exist. The caller has checked the fields. */
int faults_add(struct faults *fs, const struct launch_fault *f, uint32_t ttl_s, const char *by,
	       uint32_t *ret_id);
/* Ends one fault, 0: all. Returns how many. */
size_t faults_end(struct faults *fs, uint32_t id, const char *why);
/* {"faults": [...]}, a new reference; NULL: out of memory. */
json_t *faults_to_json(const struct faults *fs);

#endif
