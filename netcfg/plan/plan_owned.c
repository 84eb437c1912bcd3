/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the record of owned values, and updates it by the steps of an apply. */
#include "netcfg/plan/plan_owned.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/planner.h"
#include <inttypes.h>
#include <string.h>

static const struct state_kind kind = {.name = "owned",
				       .version = 2,
				       .old_until = 1,
				       .scope = STATE_OF_NETNS,
				       .bytes_max = 1U << 20};

static void forget_all(struct plan_owned *o)
{
	free(o->steps);
	o->steps = NULL;
	o->n = o->cap = 0;
}

void plan_owned_done(struct plan_owned *o)
{
	forget_all(o);
	free(o->path);
	*o = (struct plan_owned){.path = NULL};
}

static int parse_line(struct plan_owned *o, struct state_file *f)
{
	const uint32_t ifindex = (uint32_t)state_file_number(f, UINT32_MAX);
	const char *step = state_file_text(f);
	struct plan_step s, *added;

	if (!state_file_line_ends(f) || object_parse(step, &s) < 0 || s.verb != s.kind->verb)
		return STATE_TORN;
	s.change.ifindex = ifindex;
	added = plan_step_append(&o->steps, &o->n, &o->cap);
	if (!added)
		return -ENOMEM;
	*added = s;
	return 0;
}

int plan_owned_load(struct plan_owned *o, const char *path, struct diag *d)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	char *copy = strdup(path);
	int r = state_file_read(&f, &kind, path);

	plan_owned_done(o);
	o->path = copy;
	if (!copy)
		r = -ENOMEM;
	while (r == 0 && state_file_line(&f))
		r = parse_line(o, &f);
	if (r == 0 || r == STATE_MISSING || r == STATE_OTHER_BOOT)
		return 0;
	forget_all(o);
	if (r == -ENOMEM)
		return r;
	diag_add(d, DIAG_WARNING, NULL, NULL,
		 "cannot read the record %s (%s); values that earlier applies changed cannot be "
		 "restored",
		 path, state_file_error(r));
	return 0;
}

static size_t find(const struct plan_owned *o, const struct plan_step *s)
{
	size_t i = 0;

	while (i < o->n && (o->steps[i].kind != s->kind || !s->kind->same(&o->steps[i], s)))
		i++;
	return i;
}

static void drop(struct plan_owned *o, size_t i)
{
	memmove(&o->steps[i], &o->steps[i + 1], (--o->n - i) * sizeof(*o->steps));
}

/* Adds the value of the step. If the record has the value already, its old value stays and only the
 * new value changes. */
static int add(struct plan_owned *o, const struct plan_step *s)
{
	const size_t i = find(o, s);
	struct plan_step *e = i < o->n ? &o->steps[i] : NULL;

	if (e && s->verb == PLAN_SET) {
		s->kind->follow(e, s);
		return 0;
	}
	e = e ? e : plan_step_append(&o->steps, &o->n, &o->cap);
	if (!e)
		return -ENOMEM;
	*e = *s;
	return 0;
}

int plan_owned_note(struct plan_owned *o, const struct plan_step *s, bool kept)
{
	size_t i;

	if (!s->kind->recorded || s->change.foreign)
		return 0;
	/* When the apply commits, a step that is only marked as begun was done too: its mark as
	 * done could not be written. */
	if ((s->verb == PLAN_SET || s->verb == PLAN_ADD) && !kept)
		return add(o, s);
	i = s->verb == PLAN_DEL || s->verb == PLAN_RESTORE ? find(o, s) : o->n;
	if (i < o->n)
		drop(o, i);
	return 0;
}

int plan_owned_prepare(const struct plan_owned *o, const char *path)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;
	char line[256];
	int r = 0;

	state_draft_init(&d, &kind);
	for (size_t i = 0; i < o->n && r >= 0; i++) {
		r = object_format(&o->steps[i], line, sizeof(line));
		state_draft_put(&d, "%" PRIu32, o->steps[i].change.ifindex);
		state_draft_text(&d, r < 0 ? "" : line);
	}
	return r < 0 ? r : state_draft_prepare(&d, path);
}

bool plan_addr_is_ours(const struct plan_builder *b, const struct inv_addr *have)
{
	const struct plan_owned *owned = b->ctx->owned;

	if (have->proto == PLENUM_RTPROT)
		return true;
	if (b->inv->addr_owner_known || have->proto != 0 || !owned)
		return false;
	for (size_t i = 0; i < owned->n; i++) {
		const struct kernel_change *c = &owned->steps[i].change;

		if (owned->steps[i].kind == &object_addr && c->ifindex == have->ifindex &&
		    c->addr.ip.len == have->ip.len &&
		    ip_addr_equal(&c->addr.ip.addr, &have->ip.addr))
			return true;
	}
	return false;
}
