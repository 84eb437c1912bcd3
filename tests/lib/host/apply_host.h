/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host in memory on which tests apply plans with a journal and a record, and inspect the result.
 */
#ifndef PLENUM_TESTS_APPLY_HOST_H
#define PLENUM_TESTS_APPLY_HOST_H

#include "netcfg/apply/apply.h"
#include "netcfg/plan/plan_owned.h"
#include "tests/lib/host/plan_host.h"

struct host {
	struct kernel *fake;
	char dir[32], journal[48], record[48];
};

struct inventory *host_collect(struct host *h);
char *host_json(struct host *h);
struct plan *host_plan(struct host *h, const struct spec *s);
struct plan *host_apply(struct host *h, const struct spec *s);
int apply_host_setup(void **state);
int apply_host_teardown(void **state);
size_t host_steps_left(struct host *h, const struct spec *s);

/* Applies the empty configuration `nothing`, and asserts that all values of the host are then as in
 * its former state `before` (JSON). */
void host_gives_all_back(struct host *h, const struct spec *nothing, const char *before);

#endif
