/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows the running configuration, the staged one, and the configuration of an earlier apply, as
 * YAML in normal form or as JSON. */
#include "agent/control/control_internal.h"
#include "netcfg/base/file.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void show(const struct spec *spec, bool as_json, struct control_reply *r)
{
	*r = (struct control_reply){.http_status = 200,
				    .content = as_json ? PRIVSEP_JSON : PRIVSEP_YAML,
				    .text = as_json ? spec_to_json(spec) : spec_to_yaml(spec)};
}

static void get_running(struct agent *a, bool as_json, struct control_reply *r)
{
	if (a->running.spec)
		show(a->running.spec, as_json, r);
	else
		control_error(r, 404, "not-found",
			      "no configuration has been applied yet; 'plenum plan' shows the "
			      "steps of the first apply, 'plenum apply' carries them out",
			      NULL);
}

static void get_staged(struct agent *a, bool as_json, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec *spec = NULL;
	int k = store_load_next(&a->store, &d, &spec);

	if (k < 0) {
		control_failure(a, r, k, &d);
	} else {
		show(spec, as_json, r);
		r->etag = control_tag_of_tree(spec);
	}
	spec_free(spec);
}

const struct history_entry *control_kept_entry(struct agent *a, uint64_t number,
					       struct control_reply *r)
{
	const struct history *h = &a->reconcile.records.history;
	const struct history_entry *e = history_find(h, number);
	autofree char *path = e ? history_config(h, e->number) : NULL;
	struct reason why;

	if (path && e->number == number)
		return e;
	if (e)
		reason_set_text(&why,
				"apply %" PRIu64
				" is '%s' in 'plenum history': no configuration of it is "
				"kept; give the number of an apply that is shown as applied",
				number, history_outcome_to_string(e->outcome));
	else
		reason_set_text(&why,
				"apply %" PRIu64
				" is not in 'plenum history'; give the number of an "
				"apply that is shown there as applied",
				number);
	control_error(r, 404, "not-found", why.text, NULL);
	return NULL;
}

/* Adds the configuration and the plan to the JSON of the history entry, or null if they are not
 * kept. */
static void get_past_json(struct agent *a, const struct history_entry *e, const char *yaml,
			  struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	json_t *o = history_entry_to_json(&a->reconcile.records.history, e);
	struct spec *spec = NULL;
	autofree char *json = NULL;
	json_t *plan;

	/* The configuration is null if another version wrote it and this agent cannot read it. */
	if (yaml && spec_parse("history", yaml, strlen(yaml), &d, &spec) >= 0)
		json = spec_to_json(spec);
	json_object_set_new(o, "configuration", json ? json_loads(json, 0, NULL) : json_null());
	plan = history_plan_load(&a->reconcile.records.history, e->number, e->outcome);
	json_object_set_new(o, "plan", plan ? plan : json_null());
	spec_free(spec);
	control_json(r, 200, o);
}

static void get_past(struct agent *a, uint64_t number, bool as_json, struct control_reply *r)
{
	const struct history *h = &a->reconcile.records.history;
	const struct history_entry *e =
		as_json ? history_find(h, number) : control_kept_entry(a, number, r);
	autofree char *path = e ? history_config(h, number) : NULL, *yaml = NULL;
	size_t len;
	int k = 0;

	if (!e && as_json)
		control_kept_entry(a, number, r); /* this call adds the error to r */
	if (!e)
		return;
	if (path)
		k = file_read(path, SPEC_FILE_BYTES_MAX, &yaml, &len);
	else if (!as_json)
		k = -ENOMEM;
	if (k < 0)
		control_failure(a, r, k, &(struct diag)DIAG_INIT);
	else if (as_json)
		get_past_json(a, e, yaml, r);
	else
		*r = (struct control_reply){
			.http_status = 200, .content = PRIVSEP_YAML, .text = ptr_take(yaml)};
}

void control_get_config(struct agent *a, const struct privsep_msg *m, struct control_reply *r)
{
	if (m->get.what == PRIVSEP_CONFIG_RUNNING)
		get_running(a, m->get.as_json, r);
	else if (m->get.what == PRIVSEP_CONFIG_STAGED)
		get_staged(a, m->get.as_json, r);
	else
		get_past(a, m->get.number, m->get.as_json, r);
}
