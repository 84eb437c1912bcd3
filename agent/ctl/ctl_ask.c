/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends a command's request to the agent and prints the answer: as JSON with -j, otherwise as the
 * command's own text or table. */
#include "agent/ctl/ctl.h"

int ctl_ask_with(const struct ctl_args *a, const struct ctl_request *rq, const json_t *body,
		 json_t **ret)
{
	autofree char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct ctl_request full = *rq;

	if (body && !text)
		return ctl_put_text(NULL);
	if (text)
		full.body = text;
	return ctl_ask_json(a, &full, ret);
}

int ctl_show(const struct ctl_args *a, const struct ctl_request *rq, const json_t *body,
	     int (*print)(const struct ctl_args *a, const json_t *answer))
{
	json_t *o;
	int r = ctl_ask_with(a, rq, body, &o);

	if (r != CTL_OK)
		return r;
	r = a->json ? ctl_put_json(o) : print(a, o);
	json_decref(o);
	return r;
}

int ctl_change(const struct ctl_args *a, const struct ctl_request *rq, const json_t *body,
	       const char *done)
{
	json_t *o;
	int r = ctl_ask_with(a, rq, body, &o);

	if (r != CTL_OK)
		return r;
	if (a->json)
		r = ctl_put_json(o);
	else
		puts(done);
	json_decref(o);
	return r;
}

int ctl_show_list(const struct ctl_args *a, enum resource_id id,
		  int (*print)(const struct ctl_args *a, const json_t *list, const char *columns),
		  void (*note)(const json_t *answer))
{
	const struct resource *row = &resources[id];
	const struct ctl_request rq = {.resource = id, .list = row->list};
	json_t *o;
	int r = ctl_ask_json(a, &rq, &o);

	if (r != CTL_OK)
		return r;
	r = a->json ? ctl_put_json(o) : print(a, json_object_get(o, row->list), row->columns);
	if (note)
		note(o);
	json_decref(o);
	return r;
}
