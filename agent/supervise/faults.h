/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Injected faults ('plenum fault'): lists them with the users who requested them, and passes them
 * to workers that start later. The workers inject the faults and end each one when its time is
 * over, without a message from the agent. So the agent does not store the list: its successor reads
 * the faults from the workers' statistics pages.
 */
#ifndef PLENUM_AGENT_FAULTS_H
#define PLENUM_AGENT_FAULTS_H

#include "dataplane/launch.h"
#include <jansson.h>

#define FAULTS_BY_MAX 96 /* bytes of the text that describes the requester */

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

/* Returns 0 or negative errno. */
int faults_init(struct faults *fs, const struct faults_setup *setup);
void faults_done(struct faults *fs);
/* Call after workers were adopted: reads the faults that they still inject. */
void faults_adopt(struct faults *fs);
/* Begins a fault for `ttl_s` seconds and assigns its id. The caller has checked the fields. Returns
 * 0 with the id, or -ENOSPC if LAUNCH_FAULTS_MAX faults are already active. */
int faults_add(struct faults *fs, const struct launch_fault *f, uint32_t ttl_s, const char *by,
	       uint32_t *ret_id);
/* Ends the fault with this id, or all faults if id is 0. Returns how many have ended. */
size_t faults_end(struct faults *fs, uint32_t id, const char *why);
/* Returns {"faults": [...]}, a new reference, or NULL if memory is short. */
json_t *faults_to_json(const struct faults *fs);

#endif
