/* SPDX-License-Identifier: BSD-3-Clause */
/* The text form of the record of accepted transports, and how a plan changes it. */
#include "netcfg/plan/worker/transport_choice.h"
#include "netcfg/base/file.h"
#include "netcfg/base/vec.h"
#include "netcfg/base/boot_stamp.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX (1U << 20)
#define NAME "plenum-agreed"
#define VF_MAX 65535

void transport_choice_done(struct transport_choice *a)
{
	free(a->entries);
	*a = (struct transport_choice){0};
}

int transport_choice_add(struct transport_choice *a, const struct transport_choice_entry *e)
{
	struct transport_choice_entry *added = vec_add(&a->entries, &a->n, sizeof(*added));

	if (!added)
		return -ENOMEM;
	*added = *e;
	return 0;
}

void transport_choice_identify(const struct inv_link *device, char ret[static PLAN_DEVICE_MAX])
{
	static const struct mac_addr none;

	if (memcmp(&device->permanent_mac, &none, sizeof(none)) != 0)
		mac_addr_format(&device->permanent_mac, ret, PLAN_DEVICE_MAX);
	else
		snprintf(ret, PLAN_DEVICE_MAX, "%.15s", device->pci);
}

enum spec_transport transport_choice_transport(const struct transport_choice *a, unsigned core)
{
	for (size_t i = 0; a && i < a->n; i++)
		if (a->entries[i].core == core && !a->entries[i].leg[0])
			return a->entries[i].transport;
	return SPEC_TRANSPORT_UDP;
}

const struct transport_choice_entry *transport_choice_find(const struct transport_choice *a,
							   unsigned core, const char *leg,
							   const char *device)
{
	for (size_t i = 0; a && i < a->n; i++) {
		const struct transport_choice_entry *e = &a->entries[i];

		if (e->core == core && e->leg[0] && strcmp(e->leg, leg) == 0 &&
		    (!device || strcmp(e->device, device) == 0))
			return e;
	}
	return NULL;
}

bool transport_choice_moves(const struct transport_choice *a, const struct transport_choice *next,
			    unsigned core)
{
	const enum spec_transport to = transport_choice_transport(next, core);

	if (to != transport_choice_transport(a, core))
		return true;
	for (size_t i = 0; next && i < next->n && to != SPEC_TRANSPORT_UDP; i++) {
		const struct transport_choice_entry *e = &next->entries[i];

		if (e->core == core && e->leg[0] &&
		    !transport_choice_find(a, core, e->leg, e->device))
			return true;
	}
	return false;
}

/* ---- text ---- */

/* Only transports that use VFs are recorded. */
static int parse_transport(const char *word, struct transport_choice_entry *e)
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

/* VF numbers are valid for one boot. */
static int parse_line(struct transport_choice *a, const char *line, bool stale)
{
	struct transport_choice_entry e = {.transport = SPEC_TRANSPORT_UDP,
					   .vf = TRANSPORT_CHOICE_NO_VF};
	char word[24];
	int at = 0, n;

	if (sscanf(line, "core %u transport %23s %n", &e.core, word, &at) == 2 && at && !line[at])
		return parse_transport(word, &e) < 0 ? -EBADMSG : transport_choice_add(a, &e);
	at = 0;
	n = sscanf(line, "core %u leg %63s device %17s %n", &e.core, e.leg, e.device, &at);
	if (n != 3 || !at)
		return -EBADMSG;
	line += at;
	at = 0;
	if (line[0] && (sscanf(line, "vf %" SCNu32 " %n", &e.vf, &at) != 1 || !at || line[at] ||
			e.vf > VF_MAX))
		return -EBADMSG;
	if (stale)
		e.vf = TRANSPORT_CHOICE_NO_VF;
	return transport_choice_add(a, &e);
}

int transport_choice_parse(struct transport_choice *a, const char *text)
{
	PLENUM_CLEANUP(transport_choice_done) struct transport_choice next = {0};
	autofree char *copy = strdup(text);
	char *rest, *line = copy ? strtok_r(copy, "\n", &rest) : NULL;
	bool stale = false;
	int r = copy ? 0 : -ENOMEM;

	if (r == 0)
		r = line ? boot_stamp_parse(line, NAME, TRANSPORT_CHOICE_VERSION, &stale)
			 : -EBADMSG;
	while (r == 0 && (line = strtok_r(NULL, "\n", &rest)))
		r = parse_line(&next, line, stale);
	if (r < 0)
		return r;
	transport_choice_done(a);
	*a = next;
	next = (struct transport_choice){0};
	return 0;
}

int transport_choice_load(struct transport_choice *a, const char *path)
{
	autofree char *text = NULL;
	size_t len;
	int r = file_read(path, FILE_BYTES_MAX, &text, &len);

	return r < 0 ? r : transport_choice_parse(a, text);
}

static void format_entry(FILE *f, const struct transport_choice_entry *e)
{
	if (!e->leg[0])
		fprintf(f, "core %u transport %s\n", e->core,
			spec_transport_to_string(e->transport));
	else if (e->vf == TRANSPORT_CHOICE_NO_VF)
		fprintf(f, "core %u leg %s device %s\n", e->core, e->leg, e->device);
	else
		fprintf(f, "core %u leg %s device %s vf %" PRIu32 "\n", e->core, e->leg, e->device,
			e->vf);
}

char *transport_choice_format(const struct transport_choice *a)
{
	char home[BOOT_STAMP_TEXT_MAX];
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, NAME " %d %s\n", TRANSPORT_CHOICE_VERSION, boot_stamp_text(home, sizeof(home)));
	for (size_t i = 0; i < a->n; i++)
		format_entry(f, &a->entries[i]);
	return file_text_end(f, &text, 0);
}

/* ---- from a plan ---- */

static int follow_leg(const struct transport_choice *a, const struct plan *plan, size_t leg,
		      const struct plan_worker *w, struct transport_choice *ret)
{
	const struct plan_leg_info *info = &plan->legs[leg];
	const struct transport_choice_entry *had =
		transport_choice_find(a, w->core, info->name, NULL);
	struct transport_choice_entry e = {.core = w->core, .transport = SPEC_TRANSPORT_UDP};

	if (!w->vf[leg])
		return had && w->claim != SPEC_TRANSPORT_UDP ? transport_choice_add(ret, had) : 0;
	e.vf = w->vf[leg] - 1U;
	memcpy(e.leg, info->name, sizeof(e.leg));
	memcpy(e.device, info->identity, sizeof(e.device));
	return transport_choice_add(ret, &e);
}

int transport_choice_follow(const struct transport_choice *a, const struct plan *plan,
			    struct transport_choice *ret)
{
	struct transport_choice next = {0};
	int r = 0;

	for (size_t i = 0; i < plan->n_workers && r == 0; i++) {
		const struct plan_worker *w = &plan->workers[i];
		const struct transport_choice_entry e = {.core = w->core, .transport = w->claim};

		if (w->asked == SPEC_TRANSPORT_AUTO && w->claim != SPEC_TRANSPORT_UDP)
			r = transport_choice_add(&next, &e);
		for (size_t leg = 0; leg < plan->n_legs && r == 0; leg++)
			r = follow_leg(a, plan, leg, w, &next);
	}
	if (r < 0) {
		transport_choice_done(&next);
		return r;
	}
	transport_choice_done(ret);
	*ret = next;
	return 0;
}
