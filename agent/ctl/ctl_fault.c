/* SPDX-License-Identifier: BSD-3-Clause */
/* `plenum fault`: parses the options and lists the injected faults. */
#include "agent/ctl/ctl.h"

#include <stdio.h>
#include <string.h>

/* The limits are the same as in dataplane/launch.h. */
#define MILLION 1000000.0
#define TTL_S_MAX 3600

struct unit {
	const char *name;
	double factor;
};

/* Parses a number with a unit. Returns it as a count of the smallest unit, from 1 to max, or 0 if
 * the text is invalid. */
static json_int_t parse(const char *text, const struct unit *units, double max)
{
	char *end = NULL;
	double v = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : 0;

	for (; end && units->name; units++) {
		if (strcmp(end, units->name) != 0)
			continue;
		v = v * units->factor + 0.5;
		return v >= 1 && v <= max + 0.5 ? (json_int_t)v : 0;
	}
	return 0;
}

static const struct unit shares[] = {{"%", MILLION / 100.0}, {NULL, 0}};
static const struct unit delays[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}, {NULL, 0}};
static const struct unit times[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {NULL, 0}};

static int add_number(json_t *o, const char *key, const char *option, const char *text,
		      const struct unit *units, double max, const char *should)
{
	json_int_t n;

	if (!text)
		return CTL_OK;
	n = parse(text, units, max);
	if (n == 0) {
		ctl_complain("--%s: '%.40s' is not %s", option, text, should);
		return CTL_USAGE;
	}
	return json_object_set_new(o, key, json_integer(n)) < 0 ? CTL_OS : CTL_OK;
}

static int add_text(json_t *o, const char *key, const char *text)
{
	if (text && json_object_set_new(o, key, json_string(text)) < 0) {
		ctl_complain("argument is not valid UTF-8");
		return CTL_USAGE;
	}
	return CTL_OK;
}

static int make_body(const struct ctl_args *a, json_t *o)
{
	static const char share[] = "a share of packets from 0.0001% to 100%; write 1%";
	const char *drop = a->blackhole ? "100%" : a->drop;
	int r = CTL_OK;

	if (!a->ttl) {
		ctl_complain("--ttl is missing: every fault has an end; write --ttl 60s");
		return CTL_USAGE;
	}
	if (!drop && !a->duplicate && !a->reorder && !a->delay) {
		ctl_complain("no fault given; use --drop, --blackhole, --delay, --duplicate or "
			     "--reorder");
		return CTL_USAGE;
	}
	if (a->blackhole && a->drop) {
		ctl_complain("--blackhole drops all packets; remove --drop");
		return CTL_USAGE;
	}
	r = add_number(o, "ttl_s", "ttl", a->ttl, times, TTL_S_MAX,
		       "a time from 1s to 1h; write 60s or 5m");
	if (r == CTL_OK)
		r = add_number(o, "drop_ppm", "drop", drop, shares, MILLION, share);
	if (r == CTL_OK)
		r = add_number(o, "duplicate_ppm", "duplicate", a->duplicate, shares, MILLION,
			       share);
	if (r == CTL_OK)
		r = add_number(o, "reorder_ppm", "reorder", a->reorder, shares, MILLION, share);
	if (r == CTL_OK)
		r = add_number(o, "delay_us", "delay", a->delay, delays, MILLION,
			       "a time from 1us to 1s; write 2ms or 500us");
	if (r == CTL_OK)
		r = add_text(o, "leg", a->leg);
	if (r == CTL_OK)
		r = add_text(o, "peer", a->peer);
	return r == CTL_OK ? add_text(o, "direction", a->direction) : r;
}

static int print_added(const struct ctl_args *a, const json_t *answer)
{
	printf("Fault %" JSON_INTEGER_FORMAT " is active; it ends in %s, or with 'plenum "
	       "fault remove %" JSON_INTEGER_FORMAT "'.\n",
	       ctl_int(answer, "id"), a->ttl, ctl_int(answer, "id"));
	return CTL_OK;
}

int ctl_cmd_fault_add(const struct ctl_args *a)
{
	json_t *o = json_object();
	const struct ctl_request rq = {.resource = RESOURCE_FAULT_ADD};
	int r = o ? make_body(a, o) : CTL_OS;

	if (r == CTL_OK)
		r = ctl_show(a, &rq, o, print_added);
	json_decref(o);
	return r;
}

static void add_share(struct ctl_table *t, const json_t *e, const char *key)
{
	const json_int_t ppm = ctl_int(e, key);

	if (ppm)
		ctl_table_add(t, "%.4g%%", (double)ppm / 10000.0);
	else
		ctl_table_add(t, "%s", "");
}

static int print_faults(const struct ctl_args *a, const json_t *o)
{
	static const char *const headings[] = {"ID",	  "LEG",     "PEER",	  "DIRECTION",
					       "DROP",	  "DELAY",   "DUPLICATE", "REORDER",
					       "ENDS IN", "PACKETS", "BY"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *e;
	char text[32];
	size_t i;

	json_array_foreach (json_object_get(o, "faults"), i, e) {
		const char *leg = ctl_text(e, "leg"), *peer = ctl_text(e, "peer");

		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(e, "id"));
		ctl_table_add(&t, "%s", *leg ? leg : "all");
		ctl_table_add(&t, "%s", *peer ? peer : "all");
		ctl_table_add(&t, "%s", ctl_text(e, "direction"));
		add_share(&t, e, "drop_ppm");
		if (ctl_int(e, "delay_us"))
			ctl_table_add(&t, "%.6g ms", (double)ctl_int(e, "delay_us") / 1000.0);
		else
			ctl_table_add(&t, "%s", "");
		add_share(&t, e, "duplicate_ppm");
		add_share(&t, e, "reorder_ppm");
		ctl_table_add(&t, "%s",
			      ctl_format_seconds(ctl_int(e, "left_s"), text, sizeof(text)));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(e, "packets"));
		ctl_table_add(&t, "%s", ctl_text(e, "by"));
	}
	return ctl_view_print(a, &t, resources[RESOURCE_FAULTS].columns);
}

int ctl_cmd_fault_show(const struct ctl_args *a)
{
	const struct ctl_request rq = {.resource = RESOURCE_FAULTS, .list = "faults"};

	return ctl_show(a, &rq, NULL, print_faults);
}

static int print_removed(const struct ctl_args *a, const json_t *answer)
{
	printf("%" JSON_INTEGER_FORMAT " removed.\n", ctl_int(answer, "removed"));
	return CTL_OK;
}

int ctl_cmd_fault_remove(const struct ctl_args *a)
{
	const char *id = a->operands[0];
	struct ctl_request rq = {.resource = RESOURCE_FAULTS_REMOVE};

	if (strcmp(id, "all") != 0) {
		if (strspn(id, "0123456789") != strlen(id) || !*id || strlen(id) > 9) {
			ctl_complain("'%.40s' is neither an ID of 'plenum fault show' nor all", id);
			return CTL_USAGE;
		}
		rq = (struct ctl_request){.resource = RESOURCE_FAULT_REMOVE, .name = id};
	}
	return ctl_show(a, &rq, NULL, print_removed);
}
