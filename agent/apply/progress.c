/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the running step from the journal's last line, because the applier cannot report while it
 * executes a step. */
#include "agent/apply/progress.h"
#include "netcfg/base/file.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/nic.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BYTES_MAX (4U << 20)
#define STEP_S 10 /* seconds that a PF's driver needs in addition to the time for its VFs */
#define VF_MS 250 /* time to create a VF, for NIC families without a known value */

/* Reads the step in the last complete line of the journal. Returns 0, -ENOENT if that line does not
 * begin a step, or another negative errno. */
static int last_begun(const char *journal, struct plan_step *ret)
{
	autofree char *text = NULL;
	char *line;
	size_t len;
	int at = 0, r = file_read(journal, BYTES_MAX, &text, &len);

	if (r < 0 || len == 0 || text[len - 1] != '\n')
		return r < 0 ? r : -ENOENT;
	text[len - 1] = '\0';
	line = strrchr(text, '\n');
	if (!line || sscanf(line + 1, "begin %*u %n", &at) != 0 || !at)
		return -ENOENT;
	return object_parse(line + 1 + at, ret);
}

/* Finds the journal's step in the plan, because the plan also has the step's leg. */
static const struct plan_step *planned(const struct plan *p, const struct plan_step *s)
{
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].kind == s->kind && p->steps[i].verb == s->verb &&
		    strcmp(p->steps[i].link, s->link) == 0 && s->kind->same(&p->steps[i], s))
			return &p->steps[i];
	return NULL;
}

/* Returns the time limit of the step in seconds, or 0 if it is unknown. */
static unsigned limit_s(const struct plan_step *s, const struct inventory *inv)
{
	const struct kernel_pci *v = &s->change.pci_value;
	const struct inv_function *pf;
	unsigned ms;

	if (s->change.kind != KERNEL_PCI || v->attr != KERNEL_PCI_VFS)
		return 0;
	pf = inv_function_find(inv, s->link);
	ms = pf ? nic_family_find(pf->driver)->vf_make_ms : 0;
	return STEP_S + (unsigned)atoi(v->value) * (ms ? ms : VF_MS) / 1000;
}

enum progress progress_read(const char *journal, const struct plan *p, const struct inventory *inv,
			    time_t now, char buf[static PROGRESS_TEXT_MAX])
{
	const struct plan_step *step;
	struct plan_step begun;
	unsigned limit, elapsed;
	struct stat st;
	char text[100];

	buf[0] = '\0';
	if (!p || !inv || stat(journal, &st) < 0 || last_begun(journal, &begun) < 0)
		return PROGRESS_NONE;
	step = planned(p, &begun);
	if (!step)
		return PROGRESS_NONE;
	elapsed = now > st.st_mtime ? (unsigned)(now - st.st_mtime) : 0;
	limit = limit_s(step, inv);
	plan_step_describe(step, text, sizeof(text));
	if (!limit)
		snprintf(buf, PROGRESS_TEXT_MAX, "%s, %u s", text, elapsed);
	else if (elapsed <= limit)
		snprintf(buf, PROGRESS_TEXT_MAX, "%s, %u s of at most %u s", text, elapsed, limit);
	else
		snprintf(buf, PROGRESS_TEXT_MAX,
			 "%s, %u s; its driver should need at most %u s, see 'dmesg'", text,
			 elapsed, limit);
	return limit && elapsed > limit ? PROGRESS_LATE : PROGRESS_STEP;
}
