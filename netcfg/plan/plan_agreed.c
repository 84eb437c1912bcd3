/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of what was agreed to: text and back, and what a plan makes of it. Apart from the
 * planning, which only reads it. */
#include "netcfg/plan/plan_agreed.h"
#include "netcfg/base/file.h"
#include "netcfg/plan/home.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX (1U << 20)
#define NAME "plenum-agreed"
#define VF_MAX 65535

void plan_agreed_done(struct plan_agreed *a)
{
	free(a->entries);
	*a = (struct plan_agreed){0};
}

static int add(struct plan_agreed *a, const struct plan_agreed_entry *e)
{
	struct plan_agreed_entry *grown = reallocarray(a->entries, a->n + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	a->entries = grown;
	grown[a->n++] = *e;
	return 0;
}

enum spec_transport plan_agreed_transport(const struct plan_agreed *a, unsigned core)
{
	for (size_t i = 0; a && i < a->n; i++)
		if (a->entries[i].core == core && !a->entries[i].leg[0])
			return a->entries[i].transport;
	return SPEC_TRANSPORT_UDP;
}

int plan_agreed_vf(const struct plan_agreed *a, unsigned core, const char *leg)
{
	for (size_t i = 0; a && i < a->n; i++)
		if (a->entries[i].core == core && a->entries[i].leg[0] &&
		    strcmp(a->entries[i].leg, leg) == 0)
			return (int)a->entries[i].vf;
	return -1;
}

/* ---- text ---- */

/* Only what takes VFs is ever agreed to. */
static int parse_transport(const char *word, struct plan_agreed_entry *e)
{
	static const enum spec_transport known[] = {SPEC_TRANSPORT_DPDK,
						    SPEC_TRANSPORT_DPDK_INTERRUPT};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(word, spec_transport_to_string(known[i])) != 0)
			continue;
		e->transport = known[i];
		return 0;
	}
	return -EBADMSG;
}

static int parse_line(struct plan_agreed *a, const char *line, bool stale)
{
	struct plan_agreed_entry e = {.transport = SPEC_TRANSPORT_UDP};
	char word[24];
	int at = 0;

	if (sscanf(line, "core %u transport %23s %n", &e.core, word, &at) == 2 && at && !line[at])
		return parse_transport(word, &e) < 0 ? -EBADMSG : add(a, &e);
	if (sscanf(line, "core %u vf %" SCNu32 " %63s %n", &e.core, &e.vf, e.leg, &at) != 3 ||
	    !at || line[at] || e.vf > VF_MAX)
		return -EBADMSG;
	return stale ? 0 : add(a, &e);
}

int plan_agreed_parse(struct plan_agreed *a, const char *text)
{
	autofree char *copy = strdup(text);
	char *rest, *line = copy ? strtok_r(copy, "\n", &rest) : NULL;
	bool stale = false;
	int r = copy ? 0 : -ENOMEM;

	plan_agreed_done(a);
	if (r == 0)
		r = line ? home_parse(line, NAME, PLAN_AGREED_VERSION, &stale) : -EBADMSG;
	while (r == 0 && (line = strtok_r(NULL, "\n", &rest)))
		r = parse_line(a, line, stale);
	if (r < 0)
		plan_agreed_done(a);
	return r;
}

int plan_agreed_load(struct plan_agreed *a, const char *path, struct diag *d)
{
	autofree char *text = NULL;
	size_t len;
	int r;

	plan_agreed_done(a);
	r = file_read(path, FILE_BYTES_MAX, &text, &len);
	if (r == 0)
		r = plan_agreed_parse(a, text);
	if (r == 0 || r == -ENOENT)
		return 0;
	if (r == -ENOMEM)
		return r;
	diag_add(d, DIAG_WARNING, NULL, NULL,
		 "the record %s cannot be read (%s); workers with transport: auto use the kernel's "
		 "sockets until the next 'plenum apply'",
		 path, r == -EBADMSG ? "it is not of this version" : strerror(-r));
	return 0;
}

char *plan_agreed_format(const struct plan_agreed *a)
{
	char home[HOME_TEXT_MAX];
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, NAME " %d %s\n", PLAN_AGREED_VERSION, home_text(home, sizeof(home)));
	for (size_t i = 0; i < a->n; i++) {
		const struct plan_agreed_entry *e = &a->entries[i];

		if (e->leg[0])
			fprintf(f, "core %u vf %" PRIu32 " %s\n", e->core, e->vf, e->leg);
		else
			fprintf(f, "core %u transport %s\n", e->core,
				spec_transport_to_string(e->transport));
	}
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- from a plan ---- */

static int follow_leg(const struct plan_agreed *a, const struct plan *plan, size_t leg,
		      const struct plan_worker *w, struct plan_agreed *ret)
{
	const struct plan_leg_info *info = &plan->legs[leg];
	struct plan_agreed_entry e = {.core = w->core, .transport = SPEC_TRANSPORT_UDP};
	const int had = plan_agreed_vf(a, w->core, info->name);

	if (w->vf[leg])
		e.vf = w->vf[leg] - 1U;
	else if (had >= 0 && !plan_leg_is_configured(info) && w->claim != SPEC_TRANSPORT_UDP)
		e.vf = (uint32_t)had;
	else
		return 0;
	memcpy(e.leg, info->name, sizeof(e.leg));
	return add(ret, &e);
}

int plan_agreed_follow(const struct plan_agreed *a, const struct plan *plan,
		       struct plan_agreed *ret)
{
	struct plan_agreed next = {0};
	int r = 0;

	for (size_t i = 0; i < plan->n_workers && r == 0; i++) {
		const struct plan_worker *w = &plan->workers[i];
		const struct plan_agreed_entry e = {.core = w->core, .transport = w->claim};

		if (w->asked == SPEC_TRANSPORT_AUTO && w->claim != SPEC_TRANSPORT_UDP)
			r = add(&next, &e);
		for (size_t leg = 0; leg < plan->n_legs && r == 0; leg++)
			r = follow_leg(a, plan, leg, w, &next);
	}
	if (r < 0) {
		plan_agreed_done(&next);
		return r;
	}
	plan_agreed_done(ret);
	*ret = next;
	return 0;
}

int plan_agreed_save(struct plan_agreed *a, const char *path, const struct plan_agreed *next)
{
	autofree char *now = plan_agreed_format(a), *text = plan_agreed_format(next);
	int r;

	if (!now || !text)
		return -ENOMEM;
	if (strcmp(now, text) == 0)
		return 0;
	r = file_write(path, text, strlen(text), 0600);
	return r < 0 ? r : plan_agreed_parse(a, text);
}
