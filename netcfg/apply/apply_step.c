/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one step. Everything that differs between kinds of objects is in their tables (object.h). */
#include "netcfg/apply/apply_step.h"
#include "netcfg/object/object.h"
#include <stdio.h>
#include <string.h>

static bool is_value(const struct plan_step *s)
{
	return s->kind->verb == PLAN_SET;
}

int apply_step_capture(struct kernel *k, struct plan_step *s, struct reason *why)
{
	int r = object_find(k, s);

	s->change.remove = s->verb == PLAN_DEL;
	if (r == 0 && is_value(s))
		r = k->ops->read(k, &s->change);
	if (r < 0)
		kernel_fail(why, r, "");
	return r;
}

/* Checks whether the host has the object of the step. */
static int step_presence(struct kernel *k, const struct plan_step *s, enum object_presence *ret)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	int r = inv_collect(k, &d, &inv);

	diag_done(&d);
	if (r < 0)
		return r;
	*ret = s->kind->present(inv, s);
	inv_free(inv);
	return 0;
}

int apply_step_do(struct kernel *k, const struct plan_step *s, enum apply_step_state *ret,
		  struct reason *why)
{
	enum object_presence is = OBJECT_ABSENT;
	int r;

	if (is_value(s) && s->kind->settled(s)) {
		*ret = APPLY_STEP_KEPT;
		return 0;
	}
	r = k->ops->change(k, &s->change, why);
	if (r == 0) {
		*ret = APPLY_STEP_DONE;
		return 0;
	}
	if (s->verb == PLAN_ADD && r == -EEXIST) {
		if (step_presence(k, s, &is) < 0 || is == OBJECT_ABSENT)
			return r;
	} else if (s->verb == PLAN_DEL && (r == -ENOENT || r == -ESRCH || r == -EADDRNOTAVAIL)) {
		if (step_presence(k, s, &is) < 0 || is != OBJECT_ABSENT)
			return r;
	} else {
		return r;
	}
	*ret = APPLY_STEP_KEPT;
	return 0;
}

/* Finds out whether a step that is only marked as begun took effect: *ret. An object that another
 * program created does not count. */
static int step_happened(struct kernel *k, const struct plan_step *s, bool *ret)
{
	enum object_presence is;
	int r;

	if (is_value(s)) {
		*ret = true; /* writing the old value again is harmless */
		return 0;
	}
	r = step_presence(k, s, &is);
	if (r == 0)
		*ret = s->verb == PLAN_ADD ? is == OBJECT_OURS : is == OBJECT_ABSENT;
	return r;
}

/* Returns whether the link or setting of the step has disappeared, so that nothing is left to
 * invert. */
static bool is_gone(const struct plan_step *s, int r)
{
	return r == -ENODEV || (r == -ENOENT && is_value(s));
}

int apply_step_roll_back(struct kernel *k, const struct plan_step *s, enum apply_step_state state,
			 struct reason *why)
{
	struct plan_step inverse = *s;
	bool happened = state == APPLY_STEP_DONE;
	enum apply_step_state ignored;
	int r;

	/* Looks up the link or function, but does not read the value, because the journal has the
	 * old value. */
	r = object_find(k, &inverse);
	if (r == 0 && state == APPLY_STEP_BEGUN)
		r = step_happened(k, &inverse, &happened);
	if (r == 0 && happened) {
		object_invert(&inverse);
		inverse.change.remove = inverse.verb == PLAN_DEL;
		r = apply_step_do(k, &inverse, &ignored, why);
	}
	if (is_gone(s, r))
		return 0;
	if (r < 0 && !reason_is_set(why))
		kernel_fail(why, r, "");
	return r;
}
