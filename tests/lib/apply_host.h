/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host in memory on which tests apply plans with a journal and a record, and inspect the result.
 */
#ifndef PLENUM_TESTS_APPLY_HOST_H
#define PLENUM_TESTS_APPLY_HOST_H

#include "netcfg/apply/apply.h"
#include "netcfg/plan/plan_owned.h"
#include "tests/lib/plan_host.h"

struct host {
	struct kernel *fake;
	char dir[32], journal[48], record[48];
};

static inline struct inventory *collect(struct host *h)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;

	assert_int_equal(inv_collect(h->fake, &d, &inv), 0);
	inv->number = 0;
	diag_done(&d);
	return inv;
}

static inline char *host_json(struct host *h)
{
	struct inventory *inv = collect(h);
	char *text = inv_to_json(inv);

	inv_free(inv);
	return text;
}

static inline struct plan *plan_now(struct host *h, const struct spec *s)
{
	PLENUM_CLEANUP(plan_owned_done) struct plan_owned owned = {.path = NULL};
	const struct plan_context ctx = {.owned = &owned};
	struct diag d = DIAG_INIT;
	struct inventory *inv = collect(h);
	struct plan *p = NULL;

	assert_int_equal(plan_owned_load(&owned, h->record, &d), 0);
	if (plan_build(s, inv, &ctx, &d, &p) < 0)
		diag_print(&d, stderr);
	assert_non_null(p);
	inv_free(inv);
	diag_done(&d);
	return p;
}

static inline struct plan *apply(struct host *h, const struct spec *s)
{
	struct plan *p = plan_now(h, s);
	struct apply_outcome o;
	struct apply *a = NULL;

	if (apply_run(h->fake, p, h->journal, &a, &o) < 0)
		fail_msg("%s", o.why.text);
	assert_int_equal(apply_commit(a, &o), 0);
	return p;
}

static inline int apply_host_setup(void **state)
{
	struct host *h = calloc(1, sizeof(*h));
	struct inventory *inv = host_new();

	host_add_sysctls(inv, "default");
	assert_int_equal(kernel_fake_new(inv, &h->fake), 0);
	inv_free(inv);
	strcpy(h->dir, "/tmp/plenum-host-XXXXXX");
	assert_non_null(mkdtemp(h->dir));
	snprintf(h->journal, sizeof(h->journal), "%s/journal", h->dir);
	snprintf(h->record, sizeof(h->record), "%s/owned", h->dir);
	*state = h;
	return 0;
}

static inline int apply_host_teardown(void **state)
{
	struct host *h = *state;

	unlink(h->record);
	assert_int_equal(rmdir(h->dir), 0);
	kernel_free(h->fake);
	free(h);
	return 0;
}

static inline size_t n_left(struct host *h, const struct spec *s)
{
	struct plan *p = plan_now(h, s);
	size_t n = p->n_steps;

	plan_free(p);
	return n;
}

/* Applies an empty configuration: the host must equal the original in every value. */
static inline void gives_all_back(struct host *h, const struct spec *nothing, const char *before)
{
	char *after;

	plan_free(apply(h, nothing));
	after = host_json(h);
	assert_string_equal(after, before);
	assert_int_equal(n_left(h, nothing), 0);
	free(after);
}

#endif
