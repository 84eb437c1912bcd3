/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands about the cluster's configuration document and its rollout. */
#include "agent/ctl/ctl.h"

#include <stdio.h>
#include <string.h>

/* ---- the document ---- */

static int print_document(const struct ctl_args *a, const json_t *answer)
{
	return ctl_put_text(ctl_text(answer, "text"));
}

int ctl_cmd_document_show(const struct ctl_args *a)
{
	const struct ctl_request rq = {.resource = RESOURCE_DOCUMENT};

	return ctl_show(a, &rq, NULL, print_document);
}

static int print_new_document(const struct ctl_args *a, const json_t *answer)
{
	printf("The document is generation %" JSON_INTEGER_FORMAT
	       ". 'plenum rollout start' brings it to the hosts.\n",
	       ctl_int(answer, "document_generation"));
	return CTL_OK;
}

int ctl_cmd_document_set(const struct ctl_args *a)
{
	struct ctl_request rq = {.resource = RESOURCE_DOCUMENT_SET,
				 .content_type = "application/yaml"};
	autofree char *text = NULL;
	int r = ctl_read_text(a->operands[0], &text, &rq.body_len);

	rq.body = text;
	return r == CTL_OK ? ctl_show(a, &rq, NULL, print_new_document) : r;
}

/* ---- the rollout ---- */

static void print_list(const char *head, const json_t *list)
{
	const json_t *o;
	size_t i;

	json_array_foreach (list, i, o)
		printf("%s%s", i ? ", " : head, json_string_value(o));
	if (json_array_size(list))
		putchar('\n');
}

static void print_head(const json_t *o)
{
	if (ctl_int(o, "number") == 0) {
		printf("Rollout     none yet\n");
		return;
	}
	printf("Rollout     %" JSON_INTEGER_FORMAT ", %s%s\n", ctl_int(o, "number"),
	       ctl_text(o, "state"),
	       json_is_true(json_object_get(o, "returns")) ? ", back to the former document" : "");
	printf("Done        %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
	       " hosts that follow\n",
	       ctl_int(o, "hosts_done"), ctl_int(o, "hosts_following"));
	printf("Generation  %" JSON_INTEGER_FORMAT, ctl_int(o, "generation"));
	if (ctl_int(o, "document_generation") != ctl_int(o, "generation"))
		printf(" (the latest document is %" JSON_INTEGER_FORMAT ")",
		       ctl_int(o, "document_generation"));
	printf("\nHosts       %" JSON_INTEGER_FORMAT " at a time\n", ctl_int(o, "max_unavailable"));
	print_list("In flight   ", json_object_get(o, "in_flight"));
	if (*ctl_text(o, "failed_host"))
		printf("Failed      %s: %s\n", ctl_text(o, "failed_host"), ctl_text(o, "reason"));
}

static int print_hosts(const struct ctl_args *a, const json_t *hosts, const char *columns)
{
	static const char *const headings[] = {"HOST", "STATE", "GENERATION", "TIME", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *h;
	size_t i;

	json_array_foreach (hosts, i, h) {
		ctl_table_add(&t, "%s", ctl_text(h, "host"));
		ctl_table_add(&t, "%s", ctl_text(h, "state"));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(h, "generation"));
		ctl_table_add(&t, "%s", ctl_text(h, "time"));
		ctl_table_add(&t, "%s", ctl_text(h, "reason"));
	}
	return ctl_view_print(a, &t, columns);
}

int ctl_cmd_rollout_status(const struct ctl_args *a)
{
	const struct resource *row = &resources[RESOURCE_ROLLOUT];
	const struct ctl_request rq = {.resource = RESOURCE_ROLLOUT, .list = row->list};
	bool failed;
	json_t *o;
	int r = ctl_ask_json(a, &rq, &o);

	if (r != CTL_OK)
		return r;
	failed = *ctl_text(o, "failed_host");
	if (a->json) {
		r = ctl_put_json(o);
	} else {
		if (!a->view.csv && !a->view.no_header) {
			print_head(o);
			putchar('\n');
		}
		r = print_hosts(a, json_object_get(o, row->list), row->columns);
	}
	json_decref(o);
	return r == CTL_OK && failed && !a->json ? CTL_DEGRADED : r;
}

static int print_state(const struct ctl_args *a, const json_t *answer)
{
	printf("Rollout %" JSON_INTEGER_FORMAT " of generation %" JSON_INTEGER_FORMAT
	       " is %s; 'plenum rollout status' shows its progress.\n",
	       ctl_int(answer, "number"), ctl_int(answer, "generation"), ctl_text(answer, "state"));
	return CTL_OK;
}

/* Sends a change, and prints the new state of the rollout. */
static int change(const struct ctl_args *a, enum resource_id id, const json_t *body)
{
	const struct ctl_request rq = {.resource = id};

	return ctl_show(a, &rq, body, print_state);
}

/* Parses --max-unavailable: a number of hosts, or a percentage of them. */
static int put_hosts(json_t *o, const char *text)
{
	const size_t len = text ? strlen(text) : 0;
	const bool is_share = len > 1 && text[len - 1] == '%';
	char digits[16];
	unsigned long n = 1;
	int r;

	if (!is_share) {
		r = ctl_take_number("--max-unavailable", text, 1, PRIVSEP_ROLLOUT_HOSTS_MAX, &n);
	} else {
		snprintf(digits, sizeof(digits), "%.*s", (int)MIN_OF(len - 1, sizeof(digits) - 1),
			 text);
		r = ctl_take_number("--max-unavailable", digits, 1, 100, &n);
	}
	if (r == CTL_OK)
		json_object_set_new(o, is_share ? "percent" : "max-unavailable",
				    json_integer((json_int_t)n));
	return r;
}

int ctl_cmd_rollout_start(const struct ctl_args *a)
{
	json_t *o = json_object();
	unsigned long timeout = 0;
	int r = put_hosts(o, a->max_unavailable);

	if (r == CTL_OK)
		r = ctl_take_number("--timeout", a->timeout, PRIVSEP_ROLLOUT_S_MIN,
				    PRIVSEP_ROLLOUT_S_MAX, &timeout);
	if (r == CTL_OK && timeout)
		json_object_set_new(o, "timeout", json_integer((json_int_t)timeout));
	if (r == CTL_OK && a->on_failure && strcmp(a->on_failure, "stop") != 0 &&
	    strcmp(a->on_failure, "rollback") != 0) {
		ctl_complain("--on-failure takes 'stop' or 'rollback', found '%.40s'",
			     a->on_failure);
		r = CTL_USAGE;
	}
	if (r == CTL_OK && a->on_failure)
		json_object_set_new(o, "on-failure", json_string(a->on_failure));
	if (r == CTL_OK)
		r = change(a, RESOURCE_ROLLOUT_START, o);
	json_decref(o);
	return r;
}

int ctl_cmd_rollout_pause(const struct ctl_args *a)
{
	return change(a, RESOURCE_ROLLOUT_PAUSE, NULL);
}

int ctl_cmd_rollout_resume(const struct ctl_args *a)
{
	return change(a, RESOURCE_ROLLOUT_RESUME, NULL);
}

int ctl_cmd_rollout_abort(const struct ctl_args *a)
{
	return change(a, RESOURCE_ROLLOUT_ABORT, NULL);
}
