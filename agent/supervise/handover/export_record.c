/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorded identities of exported folders, one per line. */
#include "agent/supervise/handover/export_record.h"
#include "agent/base/path.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/vec.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_NAME "exports"

static const struct state_kind kind = {.name = FILE_NAME,
				       .version = 2,
				       .old_until = 1,
				       .scope = STATE_OF_BOOT,
				       .bytes_max = 4U << 20};

/* ---- the file ---- */

static void hex_put(struct state_draft *d, const uint8_t *bytes, size_t n)
{
	char hex[2 * FOLDER_HANDLE_MAX + 1] = "-";

	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	state_draft_put(d, "%s", hex);
}

/* Parses hexadecimal digits. Returns the number of bytes, or -1 if the text is not hexadecimal or
 * is too long. */
static int hex_get(const char *text, uint8_t *ret, size_t max)
{
	size_t n = strlen(text);

	if (strcmp(text, "-") == 0)
		return 0;
	if (n % 2 || n / 2 > max)
		return -1;
	for (size_t i = 0; i < n / 2; i++)
		if (sscanf(text + 2 * i, "%2hhx", &ret[i]) != 1)
			return -1;
	return (int)(n / 2);
}

/* Writes the line "export NAME now|before DEV INODE TYPE UUID HANDLE-TYPE HANDLE PATH". */
static void record_put(struct state_draft *d, const struct export_record *r)
{
	state_draft_put(d, "export %s %s %" PRIu64 " %" PRIu64 " %" PRIu64, r->name,
			r->former_boot ? "before" : "now", r->id.dev, r->id.ino, r->id.fs_type);
	hex_put(d, r->id.uuid, r->id.has_uuid ? sizeof(r->id.uuid) : 0);
	state_draft_put(d, "%" PRId32, r->id.handle_type);
	hex_put(d, r->id.handle, r->id.handle_len);
	state_draft_text(d, r->path);
}

static bool record_parse(struct state_file *f, struct export_record *ret)
{
	const char *path;
	int n_uuid, n_handle;

	memset(ret, 0, sizeof(*ret));
	state_file_expect(f, "export");
	state_file_copy(f, ret->name, sizeof(ret->name));
	ret->former_boot = strcmp(state_file_word(f), "now") != 0;
	ret->id.dev = state_file_number(f, UINT64_MAX);
	ret->id.ino = state_file_number(f, UINT64_MAX);
	ret->id.fs_type = state_file_number(f, UINT64_MAX);
	n_uuid = hex_get(state_file_word(f), ret->id.uuid, sizeof(ret->id.uuid));
	if (sscanf(state_file_word(f), "%" SCNd32, &ret->id.handle_type) != 1)
		return false;
	n_handle = hex_get(state_file_word(f), ret->id.handle, sizeof(ret->id.handle));
	path = state_file_text(f);
	if (!state_file_line_ends(f) || n_handle < 0 || path[0] != '/' ||
	    strlen(path) >= sizeof(ret->path) || (n_uuid != 0 && n_uuid != sizeof(ret->id.uuid)))
		return false;
	ret->id.has_uuid = n_uuid > 0;
	ret->id.handle_len = (uint32_t)n_handle;
	strcpy(ret->path, path);
	return true;
}

static int save(const struct export_records *x)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d = {.kind = &kind};

	if (!x->file)
		return 0;
	state_draft_init(&d, &kind);
	for (size_t i = 0; i < x->n; i++)
		record_put(&d, &x->all[i]);
	return state_draft_save(&d, x->file);
}

static int parse(struct export_records *x, struct state_file *f, bool is_stale)
{
	struct export_record *r, one;

	while (state_file_line(f)) {
		if (!record_parse(f, &one))
			return STATE_TORN;
		r = vec_add(&x->all, &x->n, sizeof(*r));
		if (!r)
			return -ENOMEM;
		one.former_boot |= is_stale;
		*r = one;
	}
	return 0;
}

int export_records_load(struct export_records *x, const char *state_dir)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f = {.kind = &kind};
	int r;

	x->file = path_join(state_dir, FILE_NAME);
	if (!x->file)
		return -ENOMEM;
	r = state_file_read(&f, &kind, x->file);
	if (r == 0 || r == STATE_OTHER_BOOT)
		r = parse(x, &f, r == STATE_OTHER_BOOT);
	if (r < 0)
		x->n = 0;
	return r == STATE_MISSING ? 0 : r;
}

void export_records_done(struct export_records *x)
{
	free(x->file);
	free(x->all);
	*x = (struct export_records){.file = NULL};
}

/* ---- the records ---- */

static struct export_record *find(const struct export_records *x, const char *name)
{
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->all[i].name, name) == 0)
			return &x->all[i];
	return NULL;
}

const struct export_record *export_records_find(const struct export_records *x, const char *name,
						const char *path)
{
	const struct export_record *r = find(x, name);

	return r && strcmp(r->path, path) == 0 ? r : NULL;
}

int export_records_put(struct export_records *x, const char *name, const char *path,
		       const struct folder_id *is)
{
	struct export_record *r = find(x, name);

	if (!r)
		r = vec_add(&x->all, &x->n, sizeof(*r));
	if (!r)
		return -ENOMEM;
	memset(r, 0, sizeof(*r));
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->path, sizeof(r->path), "%s", path);
	r->id = *is;
	return save(x);
}

int export_records_check(struct export_records *x, const char *name, const char *path,
			 const struct folder_id *is, const struct folder_id **ret_was,
			 int *ret_saved)
{
	const struct export_record *r = export_records_find(x, name, path);

	*ret_saved = 0;
	/* A file system in memory is empty after a reboot, so the former folder does not exist any
	 * more. */
	if (!r || (r->former_boot && folder_is_in_memory(&r->id))) {
		*ret_saved = export_records_put(x, name, path, is);
		return 0;
	}
	if (!folder_is_same(&r->id, is, !r->former_boot)) {
		*ret_was = &r->id;
		return -EREMCHG;
	}
	if (r->former_boot) /* stores the device number of this boot */
		*ret_saved = export_records_put(x, name, path, is);
	return 1;
}

static bool is_named(const struct export_record *r, const struct launch_config *configs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < configs[i].n_exports + configs[i].n_missing; j++)
			if (strcmp(configs[i].exports[j].name, r->name) == 0)
				return true;
	return false;
}

int export_records_keep(struct export_records *x, const struct launch_config *configs, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->n; i++)
		if (is_named(&x->all[i], configs, n))
			x->all[kept++] = x->all[i];
	if (kept == x->n)
		return 0;
	x->n = kept;
	return save(x);
}
