/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed attempts of this boot: a list, and a file that passes it to the next agent process. */
#include "netcfg/base/file.h"
#include "netcfg/base/vec.h"
#include "netcfg/base/boot_stamp.h"
#include "netcfg/plan/plan.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME "plenum-attempts"
#define ATTEMPTS_VERSION 1
#define BYTES_MAX 65536

int plan_failures_add(struct plan_failures *f, const struct plan_worker *w, const char *why)
{
	struct plan_failure *e = (struct plan_failure *)plan_failures_find(f, w);

	if (!e) {
		e = vec_add(&f->entries, &f->n, sizeof(*e));
		if (!e)
			return -ENOMEM;
	}
	*e = (struct plan_failure){.worker = w->id, .core = w->core, .asked = w->asked};
	snprintf(e->why, sizeof(e->why), "%s", why[0] ? why : "?");
	return 0;
}

const struct plan_failure *plan_failures_find(const struct plan_failures *f,
					      const struct plan_worker *w)
{
	for (size_t i = 0; f && i < f->n; i++)
		if (f->entries[i].worker == w->id && f->entries[i].core == w->core &&
		    f->entries[i].asked == w->asked)
			return &f->entries[i];
	return NULL;
}

int plan_failures_add_vfs(struct plan_failures *f, const char *pf, uint32_t n, const char *why)
{
	struct plan_refusal *e = (struct plan_refusal *)plan_failures_find_vfs(f, pf, n);

	if (!e) {
		e = vec_add(&f->refusals, &f->n_refusals, sizeof(*e));
		if (!e)
			return -ENOMEM;
	}
	*e = (struct plan_refusal){.n = n};
	snprintf(e->pf, sizeof(e->pf), "%s", pf);
	snprintf(e->why, sizeof(e->why), "%s", why[0] ? why : "?");
	return 0;
}

const struct plan_refusal *plan_failures_find_vfs(const struct plan_failures *f, const char *pf,
						  uint32_t n)
{
	for (size_t i = 0; f && i < f->n_refusals; i++)
		if (f->refusals[i].n == n && strcmp(f->refusals[i].pf, pf) == 0)
			return &f->refusals[i];
	return NULL;
}

void plan_failures_clear(struct plan_failures *f)
{
	free(f->entries);
	free(f->refusals);
	*f = (struct plan_failures){0};
}

/* ---- the file ---- */

static int parse_line(struct plan_failures *f, const char *line)
{
	struct plan_worker w = {0};
	unsigned asked = 0;
	uint32_t n;
	int at = 0;
	char pf[16];

	if (sscanf(line, "dpdk %" SCNu32 " %u %u %n", &w.id, &w.core, &asked, &at) == 3 && at) {
		w.asked = asked;
		return asked < SPEC_TRANSPORT_MAX ? plan_failures_add(f, &w, line + at) : -EBADMSG;
	}
	if (sscanf(line, "vfs %15s %" SCNu32 " %n", pf, &n, &at) == 2 && at)
		return plan_failures_add_vfs(f, pf, n, line + at);
	return -EBADMSG;
}

void plan_failures_load(struct plan_failures *f, const char *path)
{
	autofree char *text = NULL;
	char *line, *rest;
	bool stale = true;
	size_t len;

	plan_failures_clear(f);
	if (file_read(path, BYTES_MAX, &text, &len) < 0)
		return;
	line = strtok_r(text, "\n", &rest);
	if (!line || boot_stamp_parse(line, NAME, ATTEMPTS_VERSION, &stale) < 0 || stale)
		return;
	while ((line = strtok_r(NULL, "\n", &rest)))
		if (parse_line(f, line) < 0) {
			plan_failures_clear(f);
			return;
		}
}

/* Replaces control characters: a worker or the kernel wrote the text. */
static void print_words(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
	fputc('\n', out);
}

static int format(const struct plan_failures *f, char **ret, size_t *ret_len)
{
	FILE *out = open_memstream(ret, ret_len);
	char home[BOOT_STAMP_TEXT_MAX];

	if (!out)
		return -ENOMEM;
	fprintf(out, NAME " %d %s\n", ATTEMPTS_VERSION, boot_stamp_text(home, sizeof(home)));
	for (size_t i = 0; i < f->n; i++) {
		const struct plan_failure *e = &f->entries[i];

		fprintf(out, "dpdk %" PRIu32 " %u %u ", e->worker, e->core, (unsigned)e->asked);
		print_words(out, e->why);
	}
	for (size_t i = 0; i < f->n_refusals; i++) {
		fprintf(out, "vfs %s %" PRIu32 " ", f->refusals[i].pf, f->refusals[i].n);
		print_words(out, f->refusals[i].why);
	}
	return fclose(out) == 0 ? 0 : -ENOMEM;
}

int plan_failures_save(const struct plan_failures *f, const char *path)
{
	autofree char *text = NULL;
	size_t len;
	int r;

	if (f->n + f->n_refusals == 0)
		return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
	r = format(f, &text, &len);
	return r < 0 ? r : file_write(path, text, len, 0600);
}
