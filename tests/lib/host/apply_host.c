/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements apply_host.h. */
#include "tests/lib/host/apply_host.h"

struct inventory *host_collect(struct host *h)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;

	assert_int_equal(inv_collect(h->fake, &d, &inv), 0);
	inv->number = 0;
	diag_done(&d);
	return inv;
}

char *host_json(struct host *h)
{
	struct inventory *inv = host_collect(h);
	char *text = inv_to_json(inv);

	inv_free(inv);
	return text;
}

struct plan *host_plan(struct host *h, const struct spec *s)
{
	PLENUM_CLEANUP(plan_owned_done) struct plan_owned owned = {.path = NULL};
	const struct plan_context ctx = {.owned = &owned};
	struct diag d = DIAG_INIT;
	struct inventory *inv = host_collect(h);
	struct plan *p = NULL;

	assert_int_equal(plan_owned_load(&owned, h->record, &d), 0);
	if (plan_build(s, inv, &ctx, &d, &p) < 0)
		diag_print(&d, stderr);
	assert_non_null(p);
	inv_free(inv);
	diag_done(&d);
	return p;
}

struct plan *host_apply(struct host *h, const struct spec *s)
{
	struct plan *p = host_plan(h, s);
	struct apply_outcome o;
	struct apply *a = NULL;

	if (apply_run(h->fake, p, h->journal, &a, &o) < 0)
		fail_msg("%s", o.why.text);
	assert_int_equal(apply_commit(a, &o), 0);
	return p;
}

int apply_host_setup(void **state)
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

int apply_host_teardown(void **state)
{
	struct host *h = *state;

	unlink(h->record);
	assert_int_equal(rmdir(h->dir), 0);
	kernel_free(h->fake);
	free(h);
	return 0;
}

size_t host_steps_left(struct host *h, const struct spec *s)
{
	struct plan *p = host_plan(h, s);
	size_t n = p->n_steps;

	plan_free(p);
	return n;
}

void host_gives_all_back(struct host *h, const struct spec *nothing, const char *before)
{
	char *after;

	plan_free(host_apply(h, nothing));
	after = host_json(h);
	assert_string_equal(after, before);
	assert_int_equal(host_steps_left(h, nothing), 0);
	free(after);
}
